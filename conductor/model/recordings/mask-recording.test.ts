import { expect, test } from 'vitest';
import { maskRecording } from '#conductor/model/recordings/mask-recording.ts';

const hidden = 'hunter2-Zq9';

test.each([
  `enable secret 9 $9$${hidden}`,
  `username ${hidden} privilege 15 secret 5 $1$abcd$${hidden}`,
  `username ${hidden} role network-admin secret sha512 $6$salt$${hidden}/x.`,
  ` password 7 ${hidden}`,
  `user ${hidden} group administrators password ciphertext ${hidden}`,
  `snmp-server community ${hidden} ro`,
  `snmp-server host 192.0.2.9 version 2c ${hidden}`,
  `SNMP Community String   : ${hidden}`,
  `set snmp community ${hidden} authorization read-only`,
  `set system login user ${hidden} authentication encrypted-password "$6$ab$${hidden}"`,
  `tacacs-server host 192.0.2.9 key 7 ${hidden}`,
  `radius-server key ${hidden}`,
  `key-string ${hidden}`,
  `ip ospf message-digest-key 1 md5 7 ${hidden}`,
  `snmp-server host 192.0.2.9 traps version 2c ${hidden} udp-port 162`,
  ` standby 1 authentication ${hidden}`,
  ` standby 1 authentication md5 key-string 7 ${hidden}`,
  ` vrrp 1 authentication text ${hidden}`,
  ` authentication mode md5 key ${hidden}`,
  ` mka pre-shared-key key-chain ${hidden}`,
  `mac security\n   profile x\n   key 0abc 7 ${hidden}`,
  `rocommunity ${hidden} default`,
  `snmpv3 user ${hidden} auth sha auth-pass ciphertext ${hidden} priv aes priv-pass ciphertext ${hidden}`,
  ` ip nhrp authentication ${hidden}`,
  ` ipv6 ospf encryption ipsec spi 256 esp aes-cbc 128 0 ${hidden} sha1 0 ${hidden}`,
  ` ipv6 ospf authentication ipsec spi 256 sha1 ${hidden}`,
  JSON.stringify({ MACSEC_PROFILE: { p: { primary_cak: hidden, fallback_cak: hidden, primary_ckn: '6162' } } }),
  `primary_cak ${hidden}`,
  ` wpa-psk ascii ${hidden}`,
  ` mka pre-shared-key ckn 01 cak ${hidden}`,
  `set security ike policy x pre-shared-key ascii-text "${hidden}"`,
  ` bfd authentication key-id 1 ${hidden}`,
  `psk ${hidden}`,
  `bearer ${hidden}`,
  JSON.stringify({ wifi: { psk: hidden } }),
  `<encrypted-password>${hidden}</encrypted-password>`,
  `<community>\n<name>${hidden}</name>`,
  `X-Auth-Token: ${hidden}`,
  `Authorization: Basic ${hidden}`,
  JSON.stringify({ Image: `http://admin:${hidden}@192.0.2.9/live.iso` }),
  JSON.stringify({ Image: `http://192.0.2.9:6385/media/8d41f3a2-0c1e/${hidden.padEnd(43, 'x')}.iso`, Inserted: true }),
  `-----BEGIN PRIVATE KEY-----\n${hidden}\n-----END PRIVATE KEY-----`,
  JSON.stringify({ TACPLUS: { global: { passkey: hidden } }, SNMP_COMMUNITY: { [hidden]: { TYPE: 'RO' } } }),
  JSON.stringify([{ set: { system: { aaa: { user: { [hidden]: { 'hashed-password': hidden } } } } } }]),
  JSON.stringify({ cmds: { [`username ${hidden} secret sha512 $6$a$${hidden}`]: null } }),
])('%s shows no secret', (text) => {
  const shown = maskRecording(text);
  expect(shown).not.toContain(hidden);
  expect(shown).toContain('******');
});

test.each([
  ' bfd interval 300 min-rx 300 multiplier 3',
  'interface Ethernet1/1\n  description srv12\n  switchport access vlan 100\n  switchport voice vlan 4001',
  'set interfaces ge-0/0/1 unit 0 family ethernet-switching vlan members 100',
  '1    default                          active    Eth1/1, Eth1/2',
  "Invalid input (at token 1: 'show')",
  '!Time: Sat Nov 28 09:00:00 2026\n\nversion 9.3(8)',
  ' standby 1 ip 192.0.2.1\n standby 1 priority 110\n ip address 192.0.2.2 255.255.255.0',
  'Physical interface: ge-0/0/0, Enabled, Physical link is Up\n  Interface index: 648, SNMP ifIndex: 512',
])('%j stays as it is', (text) => expect(maskRecording(text)).toBe(text));

test("a trap receiver's community may be a plain word", () =>
  expect(maskRecording('snmp-server host 192.0.2.9 traps version 2c plain udp-port 162')).not.toContain('plain'));

test('JSON stays JSON with the same keys', () => {
  const document = { PORT: { Ethernet0: { alias: 'etp1', lanes: '0,1' } }, VLAN: { Vlan100: {} } };
  expect(JSON.parse(maskRecording(JSON.stringify(document)))).toEqual(document);
});
