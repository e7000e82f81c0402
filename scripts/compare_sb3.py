"""Train our PPO and A2C and those of Stable-Baselines3 with equal hyper-parameters, networks, steps and seeds.

    python scripts/compare_sb3.py --out benchmarks/results/sb3.csv

Everything runs in this process with one thread of PyTorch; each library gets the same worlds (`Sb3VecEnv`), the same
encoder, the same scale of rewards, and is evaluated over the same 400 episodes. Rows that the file already holds are
not measured again.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import stable_baselines3
import torch
from gymnasium.spaces import Dict, Space
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecNormalize

import heliotrope
from heliotrope.agents.a2c import A2C, A2CConfig
from heliotrope.agents.networks import Encoder
from heliotrope.agents.observations import OBSERVATION, parts_of
from heliotrope.agents.ppo import PPO, PPOConfig
from heliotrope.agents.sb3 import Sb3VecEnv
from heliotrope.benchmark.episodes import run_episodes

SEEDS = (0, 1, 2)
MORE_SEEDS = {
    ("GrowControl", "a2c"): (3, 4, 5),
    **{("FoodDrinkBoundedGold", kind): (3, 4, 5) for kind in ("ppo", "a2c")},
}
"""Where returns vary most from seed to seed."""
EPISODES = 400
EVALUATION_SEED = 99


@dataclass(frozen=True)
class Case:
    """A comparison: where, and for how many steps."""

    name: str
    settings: dict[str, Any]
    steps: int

    def make(self, lanes: int, **keywords: Any) -> Any:
        """The environment."""
        return heliotrope.make_vec(self.name, lanes, **self.settings, **keywords)


CASES = (
    Case("GrowControl", {"difficulty": "hard", "observation": "grid"}, 300_000),
    Case("FoodDrinkBoundedGold", {"interoception": True}, 300_000),
)


class OurEncoder(BaseFeaturesExtractor):
    """Our encoder inside a policy of Stable-Baselines3, which hands over images channels first."""

    def __init__(self, space: Space[Any], seen: Space[Any]) -> None:
        encoder = Encoder(parts_of(seen))
        super().__init__(space, encoder.features)
        self.encoder, self.channels_first = encoder, is_image_space(seen)

    def forward(self, observations: Any) -> torch.Tensor:
        """Features of a batch."""
        if isinstance(observations, dict):
            return self.encoder(observations)
        images = observations.permute(0, 2, 3, 1) if self.channels_first else observations
        return self.encoder({OBSERVATION: images})


def evaluate(policy: Any, envs: Any) -> np.ndarray:
    """Returns of the evaluation episodes."""
    return run_episodes(envs, policy, EPISODES, EVALUATION_SEED).returns


def train_ours(case: Case, algorithm: str, seed: int) -> Any:
    """Train our agent."""
    config = {"ppo": PPOConfig, "a2c": A2CConfig}[algorithm](steps=case.steps, seed=seed)
    return {"ppo": PPO, "a2c": A2C}[algorithm](config).train(case.make(config.num_envs))


def train_theirs(case: Case, algorithm: str, seed: int) -> Any:
    """Train the agent of Stable-Baselines3."""
    config: Any = {"ppo": PPOConfig, "a2c": A2CConfig}[algorithm](steps=case.steps, seed=seed)
    native = case.make(config.num_envs)
    seen = native.single_observation_space
    envs = VecNormalize(
        Sb3VecEnv(native),
        norm_obs=False,
        norm_reward=True,
        clip_reward=np.inf,
        gamma=config.discount,
    )
    common: dict[str, Any] = {
        "policy": "MultiInputPolicy" if isinstance(seen, Dict) else "MlpPolicy",
        "env": envs,
        "n_steps": config.rollout_steps,
        "learning_rate": lambda remaining: config.learning_rate * remaining,
        "gamma": config.discount,
        "gae_lambda": config.trace,
        "ent_coef": config.entropy_weight,
        # Their value loss is the whole square, ours half of it.
        "vf_coef": config.value_weight / 2,
        "max_grad_norm": config.gradient_norm,
        "seed": seed,
        "device": "cpu",
        "policy_kwargs": {
            "features_extractor_class": OurEncoder,
            "features_extractor_kwargs": {"seen": seen},
            "net_arch": [],
            "normalize_images": False,
            # It cannot work on weights in channels-last memory; the encoder has initialised its own.
            "ortho_init": False,
        },
    }
    if algorithm == "ppo":
        common["policy_kwargs"]["optimizer_kwargs"] = {"eps": 1e-5}
        batch = config.num_envs * config.rollout_steps // config.minibatches
        model = stable_baselines3.PPO(n_epochs=config.epochs, batch_size=batch, clip_range=config.clip, **common)
    else:
        model = stable_baselines3.A2C(rms_prop_eps=1e-5, normalize_advantage=False, **common)
    for head, gain in ((model.policy.action_net, 0.01), (model.policy.value_net, 1.0)):
        torch.nn.init.orthogonal_(head.weight, gain)
        torch.nn.init.zeros_(head.bias)
    return model.learn(case.steps)


def measure(case: Case, library: str, algorithm: str, seed: int) -> dict[str, Any]:
    """One row: training time and what the trained agent earns."""
    started, busy = time.perf_counter(), time.process_time()
    agent = (train_ours if library == "heliotrope" else train_theirs)(case, algorithm, seed)
    seconds, processor = time.perf_counter() - started, time.process_time() - busy
    envs = case.make(64, metrics=True)
    if library == "heliotrope":
        policy = agent.policy(envs, seed=EVALUATION_SEED)
    else:
        policy = _their_policy(agent, envs.single_observation_space)
    returns = evaluate(policy, envs)
    return {
        "environment": case.name,
        "algorithm": algorithm,
        "library": library,
        "seed": seed,
        "steps": case.steps,
        "return_mean": round(float(returns.mean()), 3),
        "return_sd": round(float(returns.std(ddof=1)), 3),
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor, 1),
    }


def _their_policy(model: Any, seen: Any) -> Any:
    is_image = is_image_space(seen)

    def act(observation: Any, info: Any) -> np.ndarray:
        observation = observation.transpose(0, 3, 1, 2) if is_image else observation
        return model.predict(observation, deterministic=False)[0]

    return act


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/sb3.csv"))
    parser.add_argument("--quick", action="store_true", help="one seed and 20,000 steps, printed only")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    if arguments.out.exists() and not arguments.quick:
        with arguments.out.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    names = ("environment", "algorithm", "library", "seed")
    done = {tuple(str(row[name]) for name in names) for row in rows}
    for case in CASES:
        case.make(1).reset(seed=0)  # compiles the rules before anything is timed
        for algorithm in ("ppo", "a2c"):
            seeds = SEEDS[:1] if arguments.quick else (*SEEDS, *MORE_SEEDS.get((case.name, algorithm), ()))
            for seed in seeds:
                for library in ("heliotrope", "stable-baselines3"):
                    if (case.name, algorithm, library, str(seed)) in done:
                        continue
                    steps = 20_000 if arguments.quick else case.steps
                    row = measure(Case(case.name, case.settings, steps), library, algorithm, seed)
                    print(row, flush=True)
                    rows.append(row)
                    if not arguments.quick:
                        with arguments.out.open("w", newline="", encoding="utf-8") as file:
                            writer = csv.DictWriter(file, list(row))
                            writer.writeheader()
                            writer.writerows(rows)


if __name__ == "__main__":
    main()
