import { existsSync, readFileSync } from 'node:fs';
import { timesFile } from '#test/set-up/times-file.ts';
import { readTimes, timesTable } from '#test/set-up/times-table.ts';

/** `npm run test:times`: where the time of the last run of tests went, by file, as a table in Markdown. */
if (existsSync(timesFile)) {
  process.stdout.write(timesTable(readTimes(readFileSync(timesFile, 'utf8'))));
} else {
  process.stderr.write(`there is no ${timesFile}: no tests have run to their end yet\n`);
  process.exitCode = 1;
}
