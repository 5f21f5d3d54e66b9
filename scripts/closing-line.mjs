// The plain last line of `npm test`, which CI reads.

/**
 * `N passed, N failed, N skipped`. A file that could not be loaded, and an error outside of any test, count as failed.
 * @param {string | undefined} report vitest's JSON @param {number} code vitest's exit code
 */
export function closingLine(report, code) {
  const { numPassedTests: passed = 0, testResults: files = [] } = report ? JSON.parse(report) : {};
  const tests = files.flatMap((file) => file.assertionResults);
  const failedTests = tests.filter(({ status }) => status === "failed").length;
  const brokenFiles = files.filter(
    ({ status, assertionResults }) =>
      status === "failed" && !assertionResults.some((result) => result.status === "failed"),
  ).length;
  const failed = failedTests + brokenFiles || (code === 0 ? 0 : 1);
  const skipped = tests.length - passed - failedTests;
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
