import { expect, test } from 'vitest';
import { agentSettings } from '#conductor/agents/agent-client.ts';

test('the agent gets its settings', () => {
  const settings = {
    agent_burnin_cpu_timeout: 2,
    'agent_burnin_vm_vm-bytes': '50%',
    agent_burnin_fio_network_config: { role: 'writer', partner: 'node-2' },
    disk_erasure_concurrency: 2,
    wipe_special_filesystems: true,
  };
  expect(agentSettings({ ...settings, redfish_address: 'https://bmc', ipmi_port: 623 })).toEqual(settings);
});

test.each([
  [{ redfish_password: 'x' }],
  [{ agent_token: 'x' }],
  [{ agent_verify_ca: '/etc/ca.pem' }],
  [{ agent_image_password: 'x' }],
  [{ agent_proxy: { host: 'h', password: 'x' } }],
  [{ agent_burnin_fio_network_pairing_backend_url: 'etcd3://me:word@host:2379' }],
])('and no secret: %j', (driverInfo) => {
  expect(agentSettings(driverInfo)).toEqual({});
});
