import { expect, test } from 'vitest';
import { readEraseOptions } from '#shared/in-band/erase-options.ts';

test('as Ironic without any configuration', () => {
  expect(readEraseOptions({ driver_internal_info: {} })).toEqual({
    iterations: 1,
    zeroize: true,
    continueIfSecureEraseFailed: false,
    nvmeSecureErase: true,
    ataSecureErase: true,
    skipReadOnly: false,
    concurrency: 4,
    wipeSharedFileSystems: false,
  });
});

test('the node goes before the configuration, and the new name before the old', () => {
  const options = readEraseOptions({
    driver_info: { agent_erase_devices_iterations: '3', agent_erase_devices_zeroize: 'False' },
    driver_internal_info: {
      agent_erase_devices_iterations: 1,
      agent_continue_if_ata_erase_failed: true,
      agent_continue_if_secure_erase_failed: false,
      disk_erasure_concurrency: 2,
    },
  });
  expect(options).toMatchObject({
    iterations: 3,
    zeroize: false,
    continueIfSecureEraseFailed: false,
    concurrency: 2,
  });
  expect(
    readEraseOptions({ driver_internal_info: { agent_continue_if_ata_erase_failed: true } })
      .continueIfSecureEraseFailed,
  ).toBe(true);
});

test.each([
  ['agent_erase_devices_iterations', -1],
  ['agent_erase_devices_iterations', 'many'],
  ['agent_erase_devices_zeroize', 'perhaps'],
  ['disk_erasure_concurrency', 0],
])('%s = %j is refused by name', (key, value) => {
  expect(() => readEraseOptions({ driver_internal_info: { [key]: value } })).toThrow(`driver_internal_info.${key}`);
});
