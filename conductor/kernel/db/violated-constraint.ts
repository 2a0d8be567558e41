import { AppError } from '#shared/errors/app-error.ts';

/** The constraint that refused a row as a duplicate (SQLSTATE 23505), or `undefined` for any other error. */
function violatedUnique(error: unknown): string | undefined {
  let current: unknown = error;
  while (current instanceof Error) {
    if ('code' in current && current.code === '23505') {
      return 'constraint' in current ? String(current.constraint) : '';
    }
    current = current.cause;
  }
  return undefined;
}

/**
 * Writes a row that the database may refuse as a duplicate.
 * @param explain what to tell for the constraint that refused it
 * @throws AppError `conflict` with that text.
 */
export async function refusingDuplicates<Result>(
  write: () => PromiseLike<Result>,
  explain: (constraint: string) => string,
): Promise<Result> {
  try {
    return await write();
  } catch (cause) {
    const constraint = violatedUnique(cause);
    throw constraint === undefined ? cause : new AppError('conflict', explain(constraint));
  }
}
