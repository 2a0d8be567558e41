/** Lines outside a port's own that may put it into a network, and such as change nothing, for `unknown-lines.test.ts`. */
interface ElsewhereLines {
  readonly elsewhere: readonly string[];
  readonly elsewhereApart: readonly string[];
}

export const elsewhereLines = {
  iosXe: {
    elsewhere: [
      'monitor session 1 destination interface Gi1/0/1',
      'monitor session 1 destination interface Gi1/0/7 , Gi1/0/1 - 4 encapsulation replicate',
      'monitor session 1 destination interface Gi1/0/1-4',
      'monitor session 1 destination interface gigabitEthernet 1/0/1 , 1/0/9',
      'monitor session 1 destination analysis-module 9 data-port 1',
      'monitor session 2 type local\n destination interface Gi1/0/1',
    ],
    elsewhereApart: [
      'monitor session 1 source interface Gi1/0/1',
      'monitor session 1 destination remote vlan 900',
      'monitor session 1 destination interface Gi1/0/2 - 4 , Te1/0/1 , Gi2/0/1',
    ],
  },
  eos: {
    elsewhere: [
      ...['Ethernet1', 'Ethernet1-4', 'Ethernet3/1-4,1', 'Ethernet5, Ethernet1', 'et1', 'Ethernet1-4/1', 'Lanz'].map(
        (list) => `monitor session 1 destination ${list}`,
      ),
      'mlag configuration peer-link Ethernet1',
      'patch panel patch a connector 1 interface Ethernet1',
      'patch panel patch a connector 1 interface Ethernet1 dot1q vlan 5',
      'patch panel patch a connector 1 interface Ethernet1.5',
    ],
    elsewhereApart: [
      ...['source Ethernet1', 'destination Ethernet2-4,11', 'destination cpu', 'destination Ethernet3/1-4,7'].map(
        (rest) => `monitor session 1 ${rest}`,
      ),
      'mlag configuration peer-link Port-Channel1',
      'mlag configuration local-interface Vlan4094',
      'patch panel patch a connector 1 interface Ethernet10',
      'patch panel patch a connector 2 pseudowire ldp a',
    ],
  },
  junos: {
    elsewhere: [
      ...['ge-0/0/1.0', 'ge-0/0/1', 'all', 'edge', 'ghost', '<ge-*>', '<*>', 'ge-0/0/*', '<ge-0/0/[0-3]>'].flatMap(
        (name) => [
          `switch-options voip interface ${name} vlan phones`,
          `protocols dot1x authenticator interface ${name} supplicant multiple`,
          `vlans x interface ${name}`,
        ],
      ),
      'ethernet-switching-options voip interface edge vlan phones',
      'forwarding-options analyzer m output interface ge-0/0/1.0',
      'forwarding-options port-mirroring family ethernet-switching output interface ge-0/0/1.0',
      'ethernet-switching-options analyzer m output interface ge-0/0/1',
      'protocols mvrp interface all',
      'protocols dot1x authenticator static 00:00:5e:00:53:01 vlan-assignment x interface ge-0/0/1.0',
      'routing-instances r vlans x interface ge-0/0/1.0',
      'logical-systems a interfaces ge-0/0/1 unit 0 vlan-id 7',
      'logical-systems a interfaces ge-0/0/1 unit 0 family ethernet-switching vlan members x',
      'logical-systems a bridge-domains x interface ge-0/0/1.0',
      'tenants a interfaces ge-0/0/1 unit 0 family inet',
      'tenants a routing-instances r interface ge-0/0/1.0',
      'interfaces fab0 fabric-options member-interfaces ge-0/0/1',
      'interfaces fab1 fabric-options member-interfaces ge-0/0/1',
      'interfaces pp0 unit 0 pppoe-options underlying-interface ge-0/0/1.0',
      ...['<ge-*>', '<*>', 'ge-*', '<ge-0/0/?>', '<{ge,xe}-*>'].flatMap((name) => [
        `interfaces ${name} unit 0 family ethernet-switching vlan members x`,
        `interfaces ${name} unit <*> family ethernet-switching`,
        `interfaces ${name} native-vlan-id 7`,
      ]),
    ],
    elsewhereApart: [
      'switch-options voip interface ge-0/0/10.0 vlan phones',
      'switch-options voip interface others vlan phones',
      'switch-options interface ge-0/0/1.0 interface-mac-limit 5',
      'forwarding-options analyzer m input ingress interface ge-0/0/1.0',
      'forwarding-options analyzer m output interface ge-0/0/7.0',
      'protocols dot1x authenticator interface <xe-*> supplicant single',
      'protocols rstp interface all',
      'interfaces <xe-*> unit 0 family ethernet-switching vlan members x',
      'interfaces <ge-*> mtu 9216',
      'logical-systems a interfaces ge-0/0/10 unit 0 vlan-id 7',
      'tenants a routing-instances r interface xe-0/0/1.0',
      'interfaces fab0 fabric-options member-interfaces ge-0/0/11',
      'interfaces fab0 description ge-0/0/1',
      'interfaces ge-0/0/7 description "to ge-0/0/1"',
    ],
  },
} as const satisfies Readonly<Record<string, ElsewhereLines>>;
