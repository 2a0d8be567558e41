import { expect, test } from 'vitest';
import { requireLoginForNewAddress } from '#conductor/nodes/driver-info.ts';

const redfish = { redfish_address: 'https://192.0.2.1', redfish_username: 'root', redfish_password: 'sealed:1' };
const ipmi = { ipmi_address: '192.0.2.1', ipmi_password: 'sealed:2' };
const target = { target_portal: '192.0.2.9:3260', auth_password: 'sealed:3' };

test.each([
  [
    'another address',
    redfish,
    { redfish_address: 'https://198.51.100.1' },
    /redfish_address decides where redfish_password/,
  ],
  ['no address', redfish, { redfish_address: undefined }, /redfish_address/],
  ['in the clear', redfish, { redfish_auth_type: 'basic' }, /redfish_auth_type.*driver_info\/redfish_password again/],
  ['any certificate', redfish, { redfish_verify_ca: false }, /redfish_verify_ca/],
  ['another port', ipmi, { ipmi_port: 6230 }, /ipmi_port decides where ipmi_password/],
  ['another portal', target, { target_portal: '198.51.100.1:3260' }, /target_portal decides where auth_password/],
])('a kept secret does not go along: %s', (_, before, change, message) => {
  expect(() => requireLoginForNewAddress('driver_info', { ...before, ...change }, before)).toThrow(message);
});

test.each([
  ['nothing that matters changes', redfish, { redfish_system_id: '/redfish/v1/Systems/2' }],
  ['the secret is written again', redfish, { redfish_address: 'https://198.51.100.1', redfish_password: 'new' }],
  ['the secret is removed', redfish, { redfish_address: 'https://198.51.100.1', redfish_password: undefined }],
  ['there is none', { redfish_address: 'a' }, { redfish_address: 'b' }],
  ["another driver's address", { ...redfish, ...ipmi }, { ipmi_address: '198.51.100.1', ipmi_password: 'new' }],
])('allowed: %s', (_, before, change) => {
  expect(() => requireLoginForNewAddress('driver_info', { ...before, ...change }, before)).not.toThrow();
});
