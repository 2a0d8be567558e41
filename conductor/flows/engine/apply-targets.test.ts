import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { CallOptions } from '#conductor/drivers/interfaces.ts';
import type { Drivers } from '#conductor/drivers/table/registry.ts';
import { applyPowerTarget } from '#conductor/flows/engine/apply-targets.ts';
import { claimLease } from '#conductor/nodes/node-lease.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let uuid: string;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.reset();
  uuid = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' })).uuid;
});

/** Finds the limit that the driver is given when a conductor goes to work on the request. */
async function limitFor(request: object): Promise<number | undefined> {
  expect((await api.call('PUT', '/v1/nodes/n1/states/power', request)).status).toBe(202);
  let reported: CallOptions | undefined;
  const real = api.context.drivers;
  const spy: Drivers = {
    ...real,
    connect: (node) => {
      const bmc = real.connect(node);
      const setPowerState: typeof bmc.power.setPowerState = (target, options) => {
        reported = options;
        return bmc.power.setPowerState(target, options);
      };
      return { ...bmc, power: { ...bmc.power, setPowerState } };
    },
  };
  const context = { ...api.context, drivers: spy };
  const lease = await claimLease(api.context.db, uuid, { holder: 'test-host', leaseMs: 60_000 });
  if (!lease) throw new Error('no lease');
  await applyPowerTarget(context, lease, new AbortController().signal);
  return reported?.timeoutMs;
}

test('the driver is given the operator’s time, which goes with the target', async () => {
  expect(await limitFor({ target: 'soft power off', timeout: 900 })).toBe(900_000);
  expect(await getNode(api.context.db, uuid)).toMatchObject({ targetPowerState: null, powerTimeout: null });
});

test('the driver’s own limits hold when the operator has named none', async () => {
  expect(await limitFor({ target: 'soft power off' })).toBeUndefined();
});
