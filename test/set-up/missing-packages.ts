import { conductorPackages } from '#conductor/start/host-packages.ts';
import { imageBuildPackages } from '#image-build/host-packages.ts';
import { run } from '#shared/process/run.ts';
import { labPackages, witnessPackages } from '#test/set-up/packages.ts';

/**
 * Prints the Debian packages that are needed and not installed, one a line; `set-up.sh` installs them. With the argument
 * `witnesses` those of `npm run test:all` too.
 */
const more = process.argv[2] === 'witnesses' ? Object.keys(witnessPackages) : [];
const needed = [...new Set([...imageBuildPackages, ...conductorPackages, ...labPackages, ...more])];
const { stdout } = await run('dpkg-query', ['--show', '--showformat=${Package} ${db:Status-Status}\n', ...needed], {
  okExitCodes: [0, 1], // 1: some are unknown to dpkg, so they are missing
});
const installed = new Set(
  stdout
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, status]) => status === 'installed')
    .map(([name]) => name),
);
for (const name of needed) if (!installed.has(name)) process.stdout.write(`${name}\n`);
