import { describe, expect, test } from 'vitest';
import { laterIds } from '#conductor/drivers/redfish/client/errors.ts';
import { createInstantClock, createRigs, hastyClock, type Rig } from '#conductor/drivers/redfish/testing/rigs.ts';
import { strike, struck, unclear } from '#conductor/drivers/redfish/testing/unclear-answers.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { vendorNames, vendors } from '#test/simulators/redfish/vendors.ts';

/** Every call that a deploy makes at a BMC, at first answered that it is to be made later, or otherwise badly. */

const { rig } = createRigs();
const patient = { retryMs: 1, timings: { pollMs: 1, resendAfterMs: 60_000 } };

/** In all spellings, one after the other. */
const spellings: readonly ((id: string) => object)[] = [
  (id) => ({ code: 'Base.1.8.GeneralError', '@Message.ExtendedInfo': [{ MessageId: `Base.1.8.${id}` }] }),
  (id) => ({ code: `iLO.0.10.${id}`, message: 'See @Message.ExtendedInfo for more information.' }),
  (id) => ({ code: 'iLO.0.10.ExtendedInfo', '@Message.ExtendedInfo': [{ MessageID: `iLO.0.10.${id}` }] }),
  (id) => ({ code: 'Base.1.8.GeneralError', '@Message.ExtendedInfo': { MessageId: `IDRAC.2.8.${id}` } }),
];
const statuses = [400, 409, 500, 503];

const noFile = () => Promise.reject(new AppError('internal', 'the BMC was to fetch it'));

async function deploy(bmc: Rig, hasMedia: boolean): Promise<void> {
  const settings = (await bmc.bios?.getSettings()) ?? [];
  if (settings.length > 0) {
    const setting = {
      name: 'NumCores',
      value: settings.find(({ name }) => name === 'NumCores')?.value === '4' ? '8' : '4',
    };
    await bmc.bios?.applySettings([setting]);
  }
  const update = { component: 'bios', url: 'http://192.0.2.9/bios-2.0.0.bin', mustPush: false };
  await bmc.firmware?.startUpdate(update, noFile);
  if (hasMedia) await bmc.virtualMedia?.insert('https://192.0.2.9/one.iso');
  await bmc.management.setBootDevice('pxe', { persistent: false });
  await bmc.power.setPowerState('rebooting');
  await bmc.management.setBootDevice('disk', { persistent: true });
  if (hasMedia) await bmc.virtualMedia?.eject();
  await bmc.power.setPowerState('rebooting');
  await bmc.power.setPowerState('power off');
}

describe.each(vendorNames)('%s', (vendor) => {
  test.each(laterIds)('$id ends nothing', async ({ id }) => {
    const bmc = await rig({ quirks: vendors[vendor], redfish: patient, clock: hastyClock });
    const row = laterIds.findIndex((each) => each.id === id);
    for (const [index, { method, path }] of struck.entries()) {
      const at = row + index;
      const error = spellings[at % spellings.length]?.(id);
      bmc.simulator.inject({ method, path, status: statuses[at % statuses.length] ?? 500, body: { error } });
    }
    await deploy(bmc, vendors[vendor].virtualMedia !== 'none');
    expect(await bmc.power.getPowerState()).toBe('power off');
    // each power action was done once
    expect(bmc.machine.actions).toEqual(['on', 'off', 'on', 'off']);
  });
});

describe.each(vendorNames)('%s', (vendor) => {
  test.each(unclear)('%s: nothing fails, and no power is switched twice', async (_what, fault, ofReads) => {
    const timings = { pollMs: 1000, resendAfterMs: 30_000 };
    const bmc = await rig({ quirks: vendors[vendor], redfish: { timings }, clock: createInstantClock() });
    await bmc.power.getPowerState();
    strike(bmc.simulator, fault, ofReads);
    await deploy(bmc, vendors[vendor].virtualMedia !== 'none');
    expect(bmc.machine.actions).toEqual(['on', 'off', 'on', 'off']);
  });
});

test.each(vendorNames)(
  '%s behind NAT, with documents that break off and actions that fail and work',
  async (vendor) => {
    const quirks = { ...vendors[vendor], linkBase: 'http://10.9.9.9' };
    const bmc = await rig({ quirks, redfish: patient, clock: hastyClock });
    const half = { body: '{"@odata.id": "/redfish/v1/Sys', times: 2 };
    bmc.simulator.inject({ method: 'GET', path: /Systems\/[^/]+$/, ...half });
    bmc.simulator.inject({ method: 'GET', path: /Managers\/[^/]+$/, ...half });
    for (const actsAs of [409, 500, 502]) bmc.simulator.inject({ method: 'POST', path: /Reset$/, actsAs });
    await deploy(bmc, vendors[vendor].virtualMedia !== 'none');
    expect(bmc.machine.actions).toEqual(['on', 'off', 'on', 'off']);
    expect(bmc.simulator.faultsLeft()).toBe(0);
    await bmc.type.close?.();
    expect(bmc.simulator.sessionCount()).toBe(0);
  },
);

test('what stays not ready is an error with the words of the BMC, once the call has had its time', async () => {
  const bmc = await rig({ redfish: patient });
  const info = { MessageId: 'IDRAC.2.8.SYS518', Message: 'Not ready.' };
  const body = { error: { code: 'Base.1.8.GeneralError', '@Message.ExtendedInfo': [info] } };
  const fault = { status: 500, body, times: 100_000 };
  bmc.simulator.inject({ method: 'PATCH', path: /Systems\/1$/, ...fault });
  bmc.simulator.inject({ method: 'POST', path: /Reset$/, ...fault });
  const time = new AbortController();
  const { signal } = time;
  const failing = [
    bmc.management.setBootDevice('pxe', { persistent: false, signal }).catch(errorChain),
    bmc.power.setPowerState('power on', { signal }).catch(errorChain),
  ];
  const refused = (method: string) =>
    bmc.simulator.requests.filter((each) => each.method === method && !each.path.endsWith('/Sessions')).length;
  await expect.poll(() => Math.min(refused('PATCH'), refused('POST'))).toBeGreaterThan(2);
  time.abort(new DOMException('over', 'TimeoutError'));
  const failed = await Promise.all(failing);
  for (const words of failed) expect(words).toContain('Not ready.');
});
