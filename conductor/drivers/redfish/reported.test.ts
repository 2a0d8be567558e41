import { describe, expect, test } from 'vitest';
import { createInstantClock, createRigs } from '#conductor/drivers/redfish/testing/rigs.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';

/** BMCs as public reports have them, each with the report's address. Storage controllers are in `reported-raid.test.ts`. */

const { rig } = createRigs();
const timings = { pollMs: 1000, resendAfterMs: 30_000 };

describe('https://bugs.launchpad.net/ironic/+bug/2162995: iDRAC 10 refuses power on for a while after power off', () => {
  const error = { code: 'Base.1.18.ActionParameterValueConflict', message: 'The parameter ResetType conflicts.' };

  test('it is asked again until it takes it', async () => {
    const bmc = await rig({ clock: createInstantClock(), redfish: { timings, retryMs: 500 } });
    // a minute
    bmc.simulator.inject({ method: 'POST', path: /Reset$/, status: 409, body: { error }, times: 6 });
    await bmc.power.setPowerState('power on');
    expect(bmc.machine.actions).toEqual(['on']);
  });

  test('one that refuses it for good has its own words', async () => {
    const bmc = await rig({ clock: createInstantClock(), redfish: { timings, retryMs: 500 } });
    bmc.simulator.inject({ method: 'POST', path: /Reset$/, status: 409, body: { error }, times: 1000 });
    await expect(bmc.power.setPowerState('power on')).rejects.toThrow('The parameter ResetType conflicts.');
    expect(bmc.machine.actions).toEqual([]);
  });
});

test.each<[string, Partial<Quirks>]>([
  ['https://github.com/ansible-collections/community.general/pull/3268', { etags: 'quoted twice' }],
  ['https://github.com/ansible-collections/community.general/pull/6434', { etags: 'any state alone' }],
])('%s: an ETag that can not be sent back as it came', async (_report, quirks) => {
  const bmc = await rig({ quirks: { ...quirks, requireIfMatch: true } });
  await bmc.management.setBootDevice('pxe', { persistent: false });
  expect(await bmc.management.getBootDevice()).toEqual({ bootDevice: 'pxe', persistent: false });
});

test('https://github.com/openbmc/bmcweb/issues/103: a password that must be changed is said, and no session stays', async () => {
  const bmc = await rig();
  const message = 'The password provided for this account must be changed before access is granted.';
  const error = { '@Message.ExtendedInfo': [{ MessageId: 'Base.1.8.PasswordChangeRequired', Message: message }] };
  bmc.simulator.inject({ method: 'GET', path: /Systems/, status: 403, body: { error }, times: 1000 });
  for (let look = 0; look < 3; look += 1) await expect(bmc.power.getPowerState()).rejects.toThrow(message);
  expect(bmc.simulator.sessionCount()).toBe(1);
  await bmc.type.close?.();
  expect(bmc.simulator.sessionCount()).toBe(0);
});
