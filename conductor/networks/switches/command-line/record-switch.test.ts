import { expect, test } from 'vitest';
import type { Logins } from '#conductor/networks/switches/command-line/logins.ts';
import { recordSwitch } from '#conductor/networks/switches/command-line/record-switch.ts';
import { nxos } from '#conductor/networks/switches/os/nxos.ts';
import { AppError } from '#shared/errors/app-error.ts';

const { commands } = nxos.read;
const refusal = '% Permission denied for the role';

/** A Nexus that refuses all commands that read but the first, or none. */
function record(isRefused: boolean) {
  const run = ([command = '']: readonly string[]): Promise<readonly string[]> =>
    isRefused && command !== commands[0]
      ? Promise.reject(new AppError('switch_error', refusal))
      : Promise.resolve([
          command.startsWith('show run') ? 'interface Ethernet1/1\n  switchport access vlan 100\n' : '',
        ]);
  const logins = { current: () => Promise.resolve({ run }) } as unknown as Logins;
  return recordSwitch({ os: nxos, rows: nxos, logins, atShell: false }, undefined);
}

test('what an answer is missing for is not read as if it were empty', async () => {
  expect(commands.length).toBeGreaterThan(1);
  expect((await record(false)).reading).not.toBeNull();
  const { reading, faults } = await record(true);
  expect(reading).toBeNull();
  expect(faults.join()).toContain(refusal);
});
