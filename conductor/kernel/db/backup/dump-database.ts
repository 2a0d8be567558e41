import { type BackupSettings, reachForDump } from '#conductor/kernel/db/backup/reach-database.ts';

/** Of the tables, as the migrations name it, and of the list of migrations that the database has seen. */
const schemas = ['--schema=public', '--schema=drizzle'];

/**
 * Writes the database in `pg_dump`'s custom format, as of one moment: conductors may go on working on it. What is secret
 * stays sealed; the keys are not in it.
 * @throws AppError saying what is missing, or what pg_dump said
 */
export function dumpDatabase(settings: BackupSettings, output: NodeJS.WritableStream): Promise<void> {
  return reachForDump(settings, async ({ programs }) => {
    const args = [
      `--dbname=${programs.connection}`,
      '--format=custom',
      '--no-owner',
      '--no-privileges',
      '--strict-names',
      ...schemas,
    ];
    await programs.stream('pg_dump', args, { output });
  });
}
