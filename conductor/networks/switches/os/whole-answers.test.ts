import { expect, test } from 'vitest';
import { portVlans } from '#conductor/model/port-vlans.ts';
import { iosXe } from '#conductor/networks/switches/os/ios-xe.ts';
import { os10 } from '#conductor/networks/switches/os/os10.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Answers that are whole, though they end, or go on, in another way than most do. */

const port = 'GigabitEthernet1/0/1';
const section = [`interface ${port}`, ' switchport trunk allowed vlan none', ' switchport mode trunk'];
const shown = 'Name: Gi1/0/1\nSwitchport: Enabled\nOperational Mode: trunk\nTrunking VLANs Enabled: NONE\n';

const readIos = (...lines: readonly string[]): unknown =>
  iosXe.read.parse([lines.join('\n'), '1 default active', shown]).ports.get(port);

// a banner stands behind the interfaces, and its lines are filtered as all others are
test.each([
  ['a banner with a line that begins as asked', [...section, 'end users are watched', 'interfaces, too', 'end']],
  ['lines below that', [...section, 'end of the terms', '   of use', 'end']],
  ['a tracker of SD-WAN', ['endpoint-tracker wan', ' tracker-type interface', ...section, 'end']],
  ['a message of the log behind its end', [...section, 'end', '*Mar  1 00:01:02.003: %SYS-5-CONFIG_I: Configured']],
])('IOS: %s', (_, lines) => expect(readIos(...lines)).toEqual(portVlans(undefined)));

test.each([
  ['no end', section],
  ['a banner’s line in place of the end', [...section, 'end users are watched']],
  ['a line that was not asked for', [...section, 'hostname leaf1', 'end']],
])('IOS: %s is no whole answer', (_, lines) => expect(() => readIos(...lines)).toThrow(AppError));

const routed = 'interface ethernet1/1/2\n no shutdown\n no switchport\n';
const readOs10 = (end: string): unknown =>
  os10.read.parse([routed, '* 1 Active', `${routed}!\n${end}`]).ports.get('ethernet1/1/2');

test.each([
  'snmp-server contact "Contact Support"\n!\ntelemetry\n',
  'telemetry\n enable\n !\n destination-group dest1\n  destination 192.0.2.7 40001\n',
  'vlt-domain 1\n discovery-interface ethernet1/1/12\n vlt-mac 02:11:22:aa:bb:cc\n',
  'vlt-domain 1\n discovery-interface ethernet1/1/12\n peer-routing\n',
])('OS10: a configuration may end with %j', (end) => expect(readOs10(end)).toEqual(portVlans(undefined)));

test.each([
  'vlt-domain 1\n',
  'vlt-domain 1\n backup destination 192.0.2.243\n',
  'vlt-domain 1\n discovery-interface ethernet1/1/12\n',
  'monitor session 1\n',
  'monitor session 1\n source interface ethernet1/1/1\n',
  'interface ethernet1/1/3\n no shutdown\n',
  'router bgp 65101\n router-id 192.0.2.1\n',
])('OS10: of one that ends with %j nobody knows whether it goes on', (end) => expect(readOs10(end)).toBe('other'));
