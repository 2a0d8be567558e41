import { removeLab } from '#test/lab/lab-directory.ts';

/**
 * A program: removes a lab when the process that made it is gone, however it went. It learns that from its standard
 * input, which ends with the maker. Arguments: namespace, directory, sockets.
 */
const [namespace = '', path = '', sockets = ''] = process.argv.slice(2);
process.stdin.resume();
process.stdin.once('end', () => {
  removeLab({ namespace, path, sockets }).catch((error: unknown) => {
    process.stderr.write(`watchdog: ${String(error)}\n`);
    process.exitCode = 1;
  });
});
