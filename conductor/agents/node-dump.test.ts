import { afterAll, beforeAll, expect, test } from 'vitest';
import { dumpNode } from '#conductor/agents/node-dump.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('the node in a command tells what steps go by, and no secret of the instance', async () => {
  const reported = {
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
    instance_info: { ...reported, ...secrets },
  });
  const node = await getNode(api.context.db, uuid);
  const asked = { hardwareManagerVersion: null };
  expect(dumpNode(testSecrets, node, asked)).toMatchObject({ uuid, driver_info: { agent_burnin_cpu_timeout: 2 } });
  expect(dumpNode(testSecrets, node, asked)['instance_info']).toEqual(reported);
});

test('what a wipe has preserved is on the skip list of every flow but a wipe', async () => {
  const { uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware' });
  const node = { ...(await getNode(api.context.db, uuid)), sparedDisks: [{ serial: 'DATA', wwn: null }] };
  const reported = (kind: FlowKindName) =>
    dumpNode(testSecrets, node, { hardwareManagerVersion: null, kind })['properties'];
  const kinds = ['deploy', 'clean', 'manual_clean', 'service'] as const;
  for (const kind of kinds) expect(reported(kind)).toEqual({ skip_block_devices: [{ serial: 's== DATA' }] });
  expect(reported('wipe')).toEqual({});
});
