import { expect, test } from 'vitest';
import { createInstantClock, createRigs } from '#conductor/drivers/redfish/testing/rigs.ts';
import { staleMs } from '#conductor/flows/driver-steps/apply-settings.ts';
import { biosFactoryReset } from '#conductor/flows/driver-steps/bios.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { sendBy } from '#conductor/kernel/db/query/statement.ts';

/** A reset to defaults of which the BMC has not told how it ended. */

const { rig } = createRigs();
const callbackTimeoutMs = 6 * staleMs;
const ramdisk = { interface: 'deploy', step: 'boot_ramdisk', state: 'succeeded' };

async function resume(steps: readonly object[], lastHeartbeatAt: Date | null) {
  const bmc = await rig({ clock: createInstantClock() });
  const context = {
    bmc: () => bmc,
    db: sendBy({} as Transaction, () => Promise.resolve({ rows: [] })),
    flow: { uuid: 'f' },
    step: { interface: 'bios', step: 'factory_reset', output: { has_settings: true, is_clear: false } },
    session: { lastHeartbeatAt },
    ask: () => Promise.resolve(steps),
    signal: new AbortController().signal,
    config: { callbackTimeoutMs },
  };
  return biosFactoryReset.resume?.(context as unknown as StepContext);
}

test.each([
  ['the whole time for a machine that starts', [ramdisk], null, callbackTimeoutMs],
  ['the whole time for one of which nothing tells when it has', [], null, callbackTimeoutMs],
  ['minutes for one that has started', [ramdisk], new Date(0), staleMs],
])('gets %s', async (_what, steps, heartbeat, timeoutMs) => {
  const reason = expect.stringContaining('the BMC to show other BIOS settings than before') as string;
  expect(await resume(steps, heartbeat)).toMatchObject({ kind: 'wait', reason, timeoutMs });
});
