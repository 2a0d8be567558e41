import { afterAll, beforeAll, expect, test } from 'vitest';
import { dumpNode } from '#conductor/agents/node-dump.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('the node in a command tells what steps go by, and no secret of the instance', async () => {
  const told = {
    root_device: { serial: 'x' },
    capabilities: 'boot_mode:uefi',
    image_source: 'https://images.example/demo.raw',
    traits: ['CUSTOM_A'],
  };
  const secrets = {
    configdrive: 'H4sIAAAA',
    image_url: 'https://swift.example/temp?temp_url_sig=hush',
    rescue_password: 'hush',
    hashed_rescue_password: '$6$hush',
    image_kernel: 'https://me:hush@images.example/vmlinuz',
    image_pull_secret: 'hush',
  };
  const { uuid } = await api.call('POST', '/v1/nodes', {
    driver: 'fake-hardware',
    driver_info: { agent_burnin_cpu_timeout: 2, redfish_password: 'hush' },
    instance_info: { ...told, ...secrets },
  });
  const node = await getNode(api.context.db, uuid);
  expect(dumpNode(testSecrets, node, null)).toMatchObject({ uuid, driver_info: { agent_burnin_cpu_timeout: 2 } });
  expect(dumpNode(testSecrets, node, null)['instance_info']).toEqual(told);
});
