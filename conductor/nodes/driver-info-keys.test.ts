import { expect, test } from 'vitest';
import { refuseUnknownKeys } from '#conductor/nodes/driver-info.ts';

test.each([
  { redfish_address: 'https://192.0.2.1', redfish_password: 'x' },
  { ipmi_address: '192.0.2.1', ipmi_hex_kg_key: '00' },
  { agent_burnin_vm_vm: 2, 'agent_burnin_vm_vm-bytes': '98%', fast_track: true, kernel_append_params: 'quiet' },
  { deploy_kernel: 'http://192.0.2.1/k', deploy_ramdisk: 'http://192.0.2.1/r', bootloader: 'b' },
])('known: %o', (info) => {
  expect(() => refuseUnknownKeys('redfish', info)).not.toThrow();
});

test.each([
  ['redfish_adress', "'redfish_adress' is not known; did you mean redfish_address?"],
  ['apikey', "'apikey' is not known; redfish reads redfish_address, "],
  ['__proto__x', "'__proto__x' is not known"],
  ['constructor', "'constructor' is not known"],
  ['agent_', "'agent_' is not known"],
  ['x'.repeat(5000), `'${'x'.repeat(100)}' is not known`],
])('unknown: %s', (key, message) => {
  expect(() => refuseUnknownKeys('redfish', { redfish_address: 'a', [key]: 'hush' })).toThrow(message);
});

test('what a node has already may stay', () => {
  expect(() => refuseUnknownKeys('redfish', { old: 2 }, { old: 1 })).not.toThrow();
  expect(() => refuseUnknownKeys('redfish', { old: 2, new: 1 }, { old: 1 })).toThrow("'new' is not known");
});
