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
      'Ethernet1',
      'Ethernet1-4',
      'Ethernet3/1-4,1',
      'Ethernet5, Ethernet1',
      'et1',
      'Ethernet1-4/1',
      'Lanz',
    ].map((list) => `monitor session 1 destination ${list}`),
    elsewhereApart: [
      'source Ethernet1',
      'destination Ethernet2-4,11',
      'destination cpu',
      'destination Ethernet3/1-4,7',
    ].map((rest) => `monitor session 1 ${rest}`),
  },
} as const satisfies Readonly<Record<string, ElsewhereLines>>;
