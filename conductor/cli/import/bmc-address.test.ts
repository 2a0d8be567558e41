import { expect, test } from 'vitest';
import { readBmcAddress } from '#conductor/cli/import/bmc-address.ts';

/** Each form of metal3's BMC addresses (baremetal-operator, pkg/hardwareutils/bmc) is read, or refused by its field. */

const read = (address: string, more: object = {}) =>
  readBmcAddress({ address, field: 'spec.bmc.address', username: 'u', password: 'p', ...more });

const one = '/redfish/v1/Systems/1';

test.each([
  [`redfish://192.0.2.9${one}`, 'redfish', 'https://192.0.2.9', one, 'ipxe'],
  [`redfish:192.0.2.9${one}`, 'redfish', 'https://192.0.2.9', one, 'ipxe'],
  [`REDFISH+HTTPS://h${one}`, 'redfish', 'https://h', one, 'ipxe'],
  ['redfish+http://h:8000/redfish/v1/Systems/a', 'redfish', 'http://h:8000', '/redfish/v1/Systems/a', 'ipxe'],
  ['redfish-virtualmedia+https://[2001:db8::1]/s', 'redfish', 'https://[2001:db8::1]', '/s', 'redfish-virtual-media'],
  [`redfish-virtualmedia+https://h:443${one}`, 'redfish', 'https://h:443', one, 'redfish-virtual-media'],
  ['redfish://h:80/s', 'redfish', 'https://h:80', '/s', 'ipxe'],
  ['ilo5-redfish+http://h/s', 'redfish', 'http://h', '/s', 'ipxe'],
  ['ilo5-virtualmedia://h/s', 'redfish', 'https://h', '/s', 'redfish-virtual-media'],
  ['idrac-redfish+http://h/s', 'idrac', 'http://h', '/s', 'ipxe'],
  ['idrac-virtualmedia+https://h/s', 'idrac', 'https://h', '/s', 'idrac-redfish-virtual-media'],
  ['redfish-uefihttp://h/s', 'redfish', 'https://h', '/s', 'http'],
])('%s', (address, driver, url, system, boot) => {
  expect(read(address)).toEqual({
    driver,
    boot_interface: boot,
    driver_info: { redfish_address: url, redfish_system_id: system, redfish_username: 'u', redfish_password: 'p' },
  });
});

test.each([
  ['192.0.2.9', { ipmi_address: '192.0.2.9' }],
  ['192.0.2.9:6230', { ipmi_address: '192.0.2.9', ipmi_port: 6230 }],
  ['bmc.example:623', { ipmi_address: 'bmc.example', ipmi_port: 623 }],
  ['ipmi:192.0.2.9', { ipmi_address: '192.0.2.9' }],
  ['ipmi://[2001:db8::1]:623', { ipmi_address: '2001:db8::1', ipmi_port: 623 }],
  ['fe80::1', { ipmi_address: 'fe80::1' }],
  ['libvirt://192.0.2.9:16230', { ipmi_address: '192.0.2.9', ipmi_port: 16_230 }],
  ['ipmi://h:623?privilegelevel=OPERATOR', { ipmi_address: 'h', ipmi_port: 623, ipmi_priv_level: 'OPERATOR' }],
])('%s is IPMI', (address, info) => {
  expect(read(address)).toEqual({ driver: 'ipmi', driver_info: { ...info, ipmi_username: 'u', ipmi_password: 'p' } });
});

test('a certificate that is not verified there is not verified here', () => {
  expect(read('redfish://h/s', { isUnverified: true })).toMatchObject({ driver_info: { redfish_verify_ca: false } });
  expect(read('redfish://h/s')).not.toMatchObject({ driver_info: { redfish_verify_ca: false } });
});

test.each([
  ['irmc://h', 'spec.bmc.address: Baton has no driver for irmc://'],
  ['idrac+http://h', 'spec.bmc.address: Baton has no driver for idrac+http://'],
  ['ilo4://h', 'spec.bmc.address: Baton has no driver for ilo4://'],
  ['ipmi+https://h', 'spec.bmc.address: Baton has no driver for ipmi+https://'],
  ['redfish+ssh://h', 'spec.bmc.address: Baton has no driver for redfish+ssh://'],
  ['', 'spec.bmc.address is missing'],
  ['  ', 'spec.bmc.address is missing'],
  ['redfish://', 'spec.bmc.address: "redfish://" is not understood: it must be like redfish://192.0.2.9/'],
  ['ipmi://h:70000', 'spec.bmc.address: "ipmi://h:70000" is not understood: it must be like ipmi://192.0.2.9:623'],
  ['ipmi://h:0', 'spec.bmc.address: "ipmi://h:0" is not understood'],
  ['redfish://u:secret@h:x/s', 'spec.bmc.address: "redfish://******@h:x/s" is not understood'],
])('"%s" is refused by its field', (address, words) => {
  expect(read(address)).toContain(words);
});
