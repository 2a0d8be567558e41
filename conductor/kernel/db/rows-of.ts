/** The rows of `db.execute`, whose type drizzle leaves open. */
export function rowsOf(answer: unknown): unknown {
  return (answer as { readonly rows: unknown }).rows;
}
