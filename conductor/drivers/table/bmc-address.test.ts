import { expect, test } from 'vitest';
import { checkBmcAddress } from '#conductor/drivers/table/bmc-address.ts';
import { type OutboundRules, parseOutboundAllowList } from '#shared/peers/outbound-url.ts';

const rules = (allow?: string): OutboundRules => ({
  setting: 'BATON_BMC_ALLOW',
  allow: allow === undefined ? undefined : parseOutboundAllowList(allow),
  allowLoopback: false,
  connectsHere: false,
});

test.each([
  { redfish_address: 'https://192.0.2.9:8443' },
  { redfish_address: 'bmc1.example' },
  { ipmi_address: '192.0.2.9' },
  { ipmi_address: '2001:db8::9' },
  { redfish_address: '2001:db8::9' },
  { redfish_address: 'https://[2001:db8::9]:8443' },
  { redfish_address: 'no address at all' },
  {},
])('%j is called', (driverInfo) => expect(() => checkBmcAddress(driverInfo, rules())).not.toThrow());

test.each([
  [{ redfish_address: 'http://169.254.169.254' }, undefined],
  [{ redfish_address: '127.0.0.1:6385' }, undefined],
  [{ ipmi_address: 'localhost' }, undefined],
  [{ ipmi_address: '::1' }, undefined],
  [{ redfish_address: '::1' }, undefined],
  [{ redfish_address: ' FE80::1 ' }, undefined],
  [{ ipmi_address: '192.0.3.9' }, '192.0.2.0/24'],
  [{ redfish_address: 'https://bmc1.example' }, '192.0.2.0/24'],
])('%j is not called with %s', (driverInfo, allow) => {
  expect(() => checkBmcAddress(driverInfo, rules(allow))).toThrow(/^driver_info\.\w+: .*BATON_BMC_ALLOW/);
});
