import { describe, expect, test } from 'vitest';
import { createRigs, hastyClock, type Rig } from '#conductor/drivers/redfish/testing/rigs.ts';

/** A BMC refuses sessions that it still has, or one resource of it refuses every session. */

const { rig } = createRigs();
const haste = { clock: hastyClock, redfish: { retryMs: 1 } };

/** Counts the sessions that the BMC has, and those that it has once the driver is closed. */
async function sessionsOf(bmc: Rig): Promise<{ readonly open: number; readonly left: number }> {
  const open = bmc.simulator.sessionCount();
  await bmc.type.close?.();
  return { open, left: bmc.simulator.sessionCount() };
}

test.each([401, 403])(
  'a session that is answered %i now and then is ended before the next one is made',
  async (status) => {
    const bmc = await rig(haste);
    await bmc.power.getPowerState();
    for (let time = 1; time <= 10; time += 1) {
      bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, status });
      expect(await bmc.power.getPowerState()).toBe('power off');
      expect(bmc.simulator.sessionCount()).toBe(1);
    }
    expect(await sessionsOf(bmc)).toEqual({ open: 1, left: 0 });
  },
);

describe('a session that its own token does not end', () => {
  const open = async () => {
    const bmc = await rig(haste);
    await bmc.power.getPowerState();
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, status: 401 });
    bmc.simulator.inject({ method: 'DELETE', path: /Sessions\//, status: 401 });
    return bmc;
  };

  test('is ended by the token of the next one', async () => {
    const bmc = await open();
    expect(await bmc.power.getPowerState()).toBe('power off');
    await expect.poll(() => bmc.simulator.sessionCount()).toBe(1);
    expect(await sessionsOf(bmc)).toEqual({ open: 1, left: 0 });
  });

  test("is left alone where its id is another account's now", async () => {
    const bmc = await open();
    bmc.simulator.inject({ method: 'GET', path: /Sessions\//, body: { Id: '1', UserName: 'operator' } });
    expect(await bmc.power.getPowerState()).toBe('power off');
    await expect.poll(() => bmc.simulator.faultsLeft()).toBe(0);
    expect(await sessionsOf(bmc)).toEqual({ open: 2, left: 1 });
  });
});

describe.each([401, 403])('a resource that always answers %i', (status) => {
  const isNic = /FirmwareInventory\/NIC.Slot.1$/;

  test('lacks the right, by name, and costs one login', async () => {
    const bmc = await rig(haste);
    await bmc.power.getPowerState();
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, status, times: 99 });
    for (let time = 1; time <= 10; time += 1) {
      const failure: unknown = await bmc.power.getPowerState().catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'bmc_error', situation: 'bmc_refused', details: { status } });
      // a BMC that starts in pieces may answer 401 for a while
      expect(failure).toMatchObject({ retryable: status === 401 });
      expect(String(failure)).toContain(`Systems/1 answered ${status} (redfish_username may lack the right to it`);
    }
    expect(bmc.simulator.counters.logins).toBe(2);
    expect(await sessionsOf(bmc)).toEqual({ open: 1, left: 0 });
  });

  test('is left out of its collection', async () => {
    const bmc = await rig(haste);
    bmc.simulator.inject({ method: 'GET', path: isNic, status, times: 99 });
    for (let time = 1; time <= 10; time += 1) {
      const names = (await bmc.firmware?.getComponents())?.components.map(({ component }) => component);
      expect(names).toEqual(expect.arrayContaining(['bios', 'bmc']));
      expect(names).not.toContain('NIC.Slot.1');
    }
    expect(bmc.simulator.counters.logins).toBe(2);
    expect(await sessionsOf(bmc)).toEqual({ open: 1, left: 0 });
  });

  test('is left out of its collection at a BMC that is asked by HTTP Basic', async () => {
    const bmc = await rig({ ...haste, driverInfo: { redfish_auth_type: 'basic' } });
    bmc.simulator.inject({ method: 'GET', path: isNic, status, times: 99 });
    const names = (await bmc.firmware?.getComponents())?.components.map(({ component }) => component);
    expect(names).toEqual(expect.arrayContaining(['bios', 'bmc']));
    expect(names).not.toContain('NIC.Slot.1');
  });

  test('does not keep a session that has run out from being made again', async () => {
    const bmc = await rig(haste);
    await bmc.power.getPowerState();
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, status, times: 2 });
    await expect(bmc.power.getPowerState()).rejects.toThrow('lack the right');
    bmc.simulator.dropSessions();
    expect(await bmc.power.getPowerState()).toBe('power off');
  });
});

test('a password that was never taken is not tried elsewhere: some lock an account', async () => {
  const driverInfo = {
    redfish_auth_type: 'basic',
    redfish_password: 'another',
    redfish_system_id: '/redfish/v1/Systems/1',
  };
  const bmc = await rig({ ...haste, driverInfo });
  await expect(bmc.power.getPowerState()).rejects.toThrow('redfish_password is wrong');
  expect(new Set(bmc.simulator.requests.map(({ path }) => path))).toEqual(new Set(['/redfish/v1/Systems/1']));
});

test.each(['its link', 'its id'] as const)(
  'a login whose answer names the session in %s is ended',
  async (namesSessionIn) => {
    const bmc = await rig({ ...haste, quirks: { namesSessionIn } });
    await bmc.power.getPowerState();
    expect(await sessionsOf(bmc)).toEqual({ open: 1, left: 0 });
    expect(bmc.simulator.requests.filter(({ method }) => method === 'DELETE')).toHaveLength(1);
  },
);
