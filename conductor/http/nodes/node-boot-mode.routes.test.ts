import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { workOnNode } from '#conductor/flows/engine/node-worker.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let uuid: string;
let broken = false;
const actions: string[] = [];
beforeAll(async () => {
  api = await openTestApi({
    drivers: {
      fake: {
        beforeAction: (action) => {
          actions.push(action);
          if (broken && action.startsWith('set')) throw new AppError('bmc_error', 'on purpose');
        },
      },
    },
  });
});
beforeEach(async () => {
  await api.reset();
  broken = false;
  actions.length = 0;
  uuid = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' })).uuid;
});
afterAll(() => api.close());

const put = (what: string, target: unknown, version?: string) =>
  api.call('PUT', `/v1/nodes/n1/states/${what}`, { target }, version);
const states = async (version?: string) => (await api.call('GET', '/v1/nodes/n1/states', undefined, version)).body;
const work = () => workOnNode(api.context, uuid, new AbortController().signal);
const containing = (text: string) => expect.stringContaining(text) as unknown;

test('both are set by a conductor and shown as read back', async () => {
  expect(await states()).toMatchObject({ boot_mode: null, secure_boot: null });
  const answer = await put('boot_mode', 'uefi');
  expect(answer.status).toBe(202);
  expect(answer.headers.get('Location')).toBe('http://api.example/v1/nodes/n1/states');
  expect((await put('secure_boot', 'true')).status).toBe(202);
  expect(api.nudged).toEqual([uuid, uuid]);
  expect(await states()).toMatchObject({ boot_mode: null, secure_boot: null });
  await work();
  expect(await states()).toMatchObject({ boot_mode: 'uefi', secure_boot: true, last_error: null });
  expect((await api.call('GET', '/v1/nodes/n1?fields=boot_mode,secure_boot')).body).toMatchObject({
    boot_mode: 'uefi',
    secure_boot: true,
  });
  expect(await states('1.74')).not.toHaveProperty('boot_mode');
  actions.length = 0;
  await work();
  expect(actions).toEqual([]);
});

test('a failure stands in last_error and is not tried again', async () => {
  broken = true;
  await put('boot_mode', 'bios');
  await work();
  expect(await states()).toMatchObject({
    boot_mode: null,
    last_error: containing("boot mode 'bios' failed: on purpose"),
  });
  actions.length = 0;
  await work();
  expect(actions).toEqual([]);
});

test('refusals', async () => {
  expect(await put('boot_mode', 'fast')).toMatchObject({ status: 400, fault: containing('must be uefi or bios') });
  expect((await put('secure_boot', 'perhaps')).status).toBe(400);
  expect((await put('boot_mode', 'uefi', '1.75')).status).toBe(404);
  await api.context.db.update(nodes).set({ provisionState: 'deploying', targetProvisionState: 'active' });
  expect((await put('boot_mode', 'uefi')).status).toBe(409);
  const info = { ipmi_address: '192.0.2.1', ipmi_username: 'a', ipmi_password: 'b' };
  await api.call('POST', '/v1/nodes', { driver: 'ipmi', name: 'n2', driver_info: info });
  expect(await api.call('PUT', '/v1/nodes/n2/states/boot_mode', { target: 'uefi' })).toMatchObject({
    status: 400,
    fault: containing('Driver ipmi does not support set_boot_mode'),
  });
});

test('an interrupt is sent', async () => {
  const nmi = (body?: unknown, version?: string) =>
    api.call('PUT', '/v1/nodes/n1/management/inject_nmi', body, version);
  expect((await nmi()).status).toBe(204);
  expect((await nmi({})).status).toBe(204);
  expect(actions).toEqual(['injectNmi', 'injectNmi']);
  expect((await nmi({ hard: true })).status).toBe(400);
  expect((await nmi(undefined, '1.28')).status).toBe(404);
});
