/** The constraint that refused a row as a duplicate (SQLSTATE 23505), or `undefined` for any other error. */
export function violatedUnique(error: unknown): string | undefined {
  let current: unknown = error;
  while (current instanceof Error) {
    if ('code' in current && current.code === '23505') {
      // PGlite says `constraint`, postgres.js `constraint_name`
      const named = current as { constraint?: string; constraint_name?: string };
      return named.constraint ?? named.constraint_name ?? '';
    }
    current = current.cause;
  }
  return undefined;
}
