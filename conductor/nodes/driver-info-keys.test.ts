import { expect, test } from 'vitest';
import { refuseUnknownKeys } from '#conductor/nodes/driver-info.ts';

test.each([
  { redfish_address: 'https://192.0.2.1', redfish_password: 'x' },
  { ipmi_address: '192.0.2.1', ipmi_hex_kg_key: '00' },
  { agent_burnin_vm_vm: 2, 'agent_burnin_vm_vm-bytes': '98%', fast_track: true, kernel_append_params: 'quiet' },
  { deploy_kernel: 'http://192.0.2.1/k', deploy_ramdisk: 'http://192.0.2.1/r', bootloader: 'b' },
  // enrolment files for Ironic: what its drivers read, and what those of its earlier releases have read
  {
    image_download_source: 'http',
    firmware_update_unresponsive_bmc_wait: 300,
    config_via_floppy: false,
    drac_address: '192.0.2.1',
    drac_username: 'root',
    drac_password: 'calvin',
    redfish_tls_minimum_version: '1.2',
    redfish_tls_ciphers: 'HIGH',
    vmedia_transport_protocol: 'http',
    cleaning_runbook: 'CUSTOM_A',
    ansible_username: 'root',
  },
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
