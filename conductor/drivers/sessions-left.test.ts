import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDrivers, type Drivers } from '#conductor/drivers/table/registry.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';
import { createDraw } from '#test/support/draw.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

/** A BMC has room for few sessions: none is left there after all that operators and conductors do. */

let bmc: RedfishSimulator;
let drivers: Drivers;
const uuid = randomUUID();
const account = { username: 'admin', password: 'first' };
let driver: 'redfish' | 'idrac' | 'fake-hardware';

const open = (): Drivers => createDrivers({ run, log: silentLog, secrets: testSecrets }, { redfish: { retryMs: 1 } });
const connect = () =>
  drivers.connect({
    uuid,
    driver,
    powerHold: null,
    driverInfo: {
      redfish_address: bmc.address,
      redfish_username: account.username,
      redfish_password: account.password,
    },
  });
const look = () => connect().power.getPowerState();
const setAccount = (change: Partial<typeof account>): void => {
  Object.assign(account, change);
  bmc.setAccount(account.username, account.password);
};

beforeEach(async () => {
  driver = 'redfish';
  bmc = await startRedfishSimulator({ machine: createMemoryMachine(), ...account });
  drivers = open();
  return () => bmc.close();
});
afterEach(() => drivers.close());

const changes = {
  'another password': (draw: number) => setAccount({ password: `password-${draw}` }),
  'another account': (draw: number) => setAccount({ username: `admin-${draw}` }),
  both: (draw: number) => setAccount({ username: `root-${draw}`, password: `secret-${draw}` }),
  'another driver': () => {
    driver = driver === 'redfish' ? 'idrac' : 'redfish';
  },
  'a driver without sessions for a while': async () => {
    const before = driver;
    driver = 'fake-hardware';
    await look();
    driver = before;
  },
  'a conductor that is started again': async () => {
    await drivers.close();
    drivers = open();
  },
  'a call that is under way meanwhile': async (draw: number) => {
    const call = look();
    setAccount({ password: `late-${draw}` });
    // whether the BMC has taken the password of before is not the question
    await call.catch(() => undefined);
  },
} as const satisfies Record<string, (draw: number) => unknown>;

test('after 100 changes of account, password and driver, and restarts: one, and none at the end', async () => {
  const draw = createDraw(36);
  const names = Object.keys(changes) as (keyof typeof changes)[];
  for (let count = 0; count < 100; count += 1) {
    const name = draw.of(names);
    await changes[name](count);
    await look();
    await expect.poll(() => bmc.sessionCount(), { message: `${count}: ${name}` }).toBeLessThanOrEqual(1);
  }
  await drivers.close();
  expect(bmc.counters.logins).toBeGreaterThan(50);
  expect(bmc.sessionCount()).toBe(0);
});

test('what is still under way with an account that was left makes no session any more', async () => {
  const before = connect();
  await before.power.getPowerState();
  driver = 'fake-hardware';
  await look();
  await expect.poll(() => bmc.sessionCount()).toBe(0);
  expect(await before.power.getPowerState()).toBe('power off');
  expect(bmc.sessionCount()).toBe(0);
});

test('a login that is under way at the end is ended as well', async () => {
  bmc.freeze();
  const call = look().catch(() => undefined);
  await expect.poll(() => bmc.counters.requests).toBeGreaterThan(0);
  const closed = drivers.close();
  bmc.thaw();
  await closed;
  await call;
  expect(bmc.sessionCount()).toBe(0);
});
