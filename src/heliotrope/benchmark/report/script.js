"use strict";
// Sorts a table by the column whose heading was pressed; a second press turns the order round.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const heading = button.parentElement;
    const column = heading.cellIndex;
    const upwards = heading.getAttribute("aria-sort") !== "ascending";
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", upwards ? "ascending" : "descending");
    const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const body = heading.closest("table").tBodies[0];
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      const numbers = x !== "" && y !== "" && !isNaN(x) && !isNaN(y);
      return (numbers ? x - y : x.localeCompare(y, undefined, { numeric: true })) * (upwards ? 1 : -1);
    });
    body.append(...rows);
  });
}
