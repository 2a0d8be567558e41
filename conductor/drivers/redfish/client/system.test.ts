import { expect, test } from 'vitest';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { type KnownSystem, redfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';

/** A BMC with one system, which may become another. */
function setUp() {
  const bmc = { system: '/redfish/v1/Systems/1', ms: 0 };
  const asked: string[] = [];
  const answer = (path: string): unknown => {
    if (path === '/redfish/v1/') return { Systems: { '@odata.id': '/redfish/v1/Systems' } };
    if (path === '/redfish/v1/Systems') return { Members: [{ '@odata.id': bmc.system }] };
    if (path === bmc.system) return { '@odata.id': path, PowerState: 'On' };
    throw new AppError('bmc_error', `GET ${path} answered 404`, { details: { status: 404 } });
  };
  const client: RedfishClient = {
    origin: 'https://bmc.example',
    log: silentLog,
    request: async ({ path }) => {
      asked.push(path);
      return Promise.resolve({ status: 200, headers: {}, body: answer(path) });
    },
    hasAnswered: () => true,
    login: async () => ({}),
    endSession: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  const known: KnownSystem = {};
  const clock = { now: () => new Date(bmc.ms), sleep: () => Promise.resolve() };
  const read = async (configuredPath?: string) => {
    asked.length = 0;
    const { path } = await redfishSystem(client, { clock, configuredPath, known }).read(AbortSignal.timeout(1000));
    return { path, asked: asked.length };
  };
  return { bmc, read };
}

test('the only system is looked for once a minute, not for each call', async () => {
  const { bmc, read } = setUp();
  const path = '/redfish/v1/Systems/1';
  expect(await read()).toEqual({ path, asked: 3 });
  expect(await read()).toEqual({ path, asked: 1 });
  bmc.ms = 59_999;
  expect(await read()).toEqual({ path, asked: 1 });
  bmc.ms = 60_000;
  expect(await read()).toEqual({ path, asked: 3 });
  // a clock that was set back
  bmc.ms = 0;
  expect(await read()).toEqual({ path, asked: 3 });
});

test('one that is gone is looked for again, one that is configured is not', async () => {
  const { bmc, read } = setUp();
  await read();
  bmc.system = '/redfish/v1/Systems/blade-2';
  await expect(read('/redfish/v1/Systems/1')).rejects.toMatchObject({ details: { status: 404 } });
  expect(await read()).toEqual({ path: '/redfish/v1/Systems/blade-2', asked: 4 });
  expect(await read()).toEqual({ path: '/redfish/v1/Systems/blade-2', asked: 1 });
});
