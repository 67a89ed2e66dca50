// SPDX-License-Identifier: Apache-2.0
"use strict";

// Compares two cells; what is empty comes last, whichever way one sorts.
function compare(one, other, isNumber, sign) {
  if (one === "" || other === "") return (one === "") - (other === "");
  return sign * (isNumber ? Number(one) - Number(other) : one.localeCompare(other));
}

for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const descending = heading.getAttribute("aria-sort") === "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const isNumber = "number" in heading.dataset;
      const text = (row) => row.cells[column].textContent;
      const rows = [...body.rows].sort((one, other) =>
        compare(text(one), text(other), isNumber, descending ? -1 : 1));
      body.append(...rows);
    });
  });
}

for (const button of document.querySelectorAll("button.copy")) {
  const code = button.previousElementSibling;
  button.addEventListener("click", async () => {
    getSelection().selectAllChildren(code);
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "copied";
    } catch {
      button.textContent = "selected"; // browsers may refuse; then the person copies
    }
  });
}
