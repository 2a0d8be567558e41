import { expect, test } from 'vitest';
import {
  readCpuSettings,
  readDiskSettings,
  readMemorySettings,
  readNetworkSettings,
} from '#shared/in-band/burnin-settings.ts';

test("defaults are ironic-python-agent's", () => {
  expect(readCpuSettings({})).toEqual({ seconds: 86_400, workers: 0 });
  expect(readMemorySettings({ driver_info: {} })).toEqual({ seconds: 86_400, workers: 0, amount: { percent: 98 } });
  expect(readDiskSettings({})).toEqual({ loops: 4, seconds: 0, smartTest: false });
});

test('numbers may be texts, times may have units', () => {
  const driverInfo = {
    agent_burnin_cpu_timeout: '2',
    agent_burnin_cpu_cpu: 3,
    agent_burnin_vm_timeout: '5m',
    'agent_burnin_vm_vm-bytes': '2G',
    agent_burnin_fio_disk_runtime: '1h',
    agent_burnin_fio_disk_smart_test: 'True',
    agent_burnin_fio_network_config: { role: 'reader', partner: '10.0.0.2' },
    agent_burnin_fio_network_runtime: 60,
  };
  expect(readCpuSettings({ driver_info: driverInfo })).toEqual({ seconds: 2, workers: 3 });
  expect(readMemorySettings({ driver_info: driverInfo })).toMatchObject({
    seconds: 300,
    amount: { bytes: 2 * 1024 ** 3 },
  });
  expect(readDiskSettings({ driver_info: driverInfo })).toMatchObject({ seconds: 3600, smartTest: true });
  expect(readNetworkSettings({ driver_info: driverInfo })).toEqual({
    seconds: 60,
    role: 'reader',
    partner: '10.0.0.2',
  });
});

test.each<[string, unknown, (info: object) => unknown]>([
  ['agent_burnin_cpu_timeout', 'soon', (info) => readCpuSettings({ driver_info: { ...info } })],
  ['agent_burnin_vm_vm-bytes', '98 percent', (info) => readMemorySettings({ driver_info: { ...info } })],
  ['agent_burnin_fio_disk_loops', 0, (info) => readDiskSettings({ driver_info: { ...info } })],
  [
    'agent_burnin_fio_network_config',
    { role: 'boss', partner: 'x' },
    (info) => readNetworkSettings({ driver_info: { ...info } }),
  ],
])('%s = %j is refused by name', (key, value, read) => {
  expect(() => read({ [key]: value })).toThrow(`driver_info.${key}`);
});

test('without a partner there is no network burn-in', () => {
  expect(() => readNetworkSettings({})).toThrow(/agent_burnin_fio_network_config must name role/);
});
