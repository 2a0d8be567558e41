/** The rows of `db.execute`: PGlite answers an object with them, PostgreSQL's client the rows themselves. */
export function rowsOf(answer: unknown): unknown {
  return typeof answer === 'object' && answer !== null && 'rows' in answer ? answer.rows : answer;
}
