import { channelGroup, switchportKeys } from '#test/simulators/switch/channels.ts';
import { printConfig, type SectionCommand, type TextConfig } from '#test/simulators/switch/text-config.ts';
import type { TextSystem } from '#test/simulators/switch/text-switch.ts';

/** Differences between systems that are set line by line. */

const described: SectionCommand = { form: /^description .+$/, key: 'description' };
const switchport: readonly SectionCommand[] = [
  described,
  { form: /^switchport$/, key: 'switchport' },
  { form: /^shutdown$/, key: 'shutdown' },
  { form: /^switchport mode (access|trunk)$/, key: 'switchport mode' },
  { form: /^switchport access vlan \d+$/, key: 'switchport access vlan' },
  { form: /^switchport trunk allowed vlan (none|all|[\d,-]+)$/, key: 'switchport trunk allowed vlan' },
  { form: /^switchport trunk native vlan \d+$/, key: 'switchport trunk native vlan' },
  { form: /^switchport voice vlan \d+$/, key: 'switchport voice vlan' },
  { form: /^switchport trunk encapsulation dot1q$/, key: 'switchport trunk encapsulation' },
  { form: /^(vpc|vlt-port-channel) \d+$/, key: 'pair' },
  channelGroup,
];
const freshTrunk = { 'switchport mode': 'switchport mode trunk' };
const accessByHand = (vlan: number) => ['switchport mode access', `switchport access vlan ${vlan}`];

const vlanNumbers = (config: TextConfig): string[] =>
  [...config.keys()].filter((section) => section.startsWith('vlan ')).map((section) => section.slice('vlan '.length));

const interfacesOf = (config: TextConfig, without: (line: string) => boolean = () => false): string =>
  printConfig(
    new Map(
      [...config]
        .filter(([section]) => section.startsWith('interface '))
        .map(([section, lines]) => [section, new Map([...lines].filter(([, line]) => !without(line)))]),
    ),
  );

const vlanSections = (config: TextConfig): string =>
  printConfig(new Map([...config].filter(([section]) => section.startsWith('vlan '))));

const vlanTable = (config: TextConfig): string =>
  [
    '',
    'VLAN Name                             Status    Ports',
    '---- -------------------------------- --------- -------------------------------',
    ...vlanNumbers(config).map((vlan) => {
      const name = config.get(`vlan ${vlan}`)?.get('description')?.split(' ')[1] ?? `VLAN${vlan.padStart(4, '0')}`;
      return `${vlan.padEnd(5)}${name.padEnd(32)} active`;
    }),
  ].join('\n');

/** Makes names of 48 ports, of which the last is a bond. */
const orBond = (bond: string, form: (number: number) => string) => (number: number) =>
  number === 48 ? `${bond}${number}` : form(number);

/** `1/1/1-1/1/4`, `GigabitEthernet1/0/1 - 4` */
function between(range: string, hyphen: string): string[] {
  const [first = '', last] = range.split(hyphen);
  const number = (name: string): number => Number(/\d+$/.exec(name)?.[0]);
  if (last === undefined) return [first];
  const head = first.replace(/\d+$/, '');
  return Array.from({ length: number(last) - number(first) + 1 }, (_, index) => `${head}${number(first) + index}`);
}

/** A range is of one kind. */
const ofOneKind = (names: readonly string[] | undefined) =>
  names && new Set(names.map((name) => name.replace(/\d.*$/, ''))).size === 1 ? names : undefined;

const ciscoModes = {
  exec: '>',
  privileged: '#',
  config: '(config)#',
  interface: '(config-if-range)#',
  vlan: '(config-vlan)#',
};

const nxos: TextSystem = {
  name: 'nxos',
  port: orBond('port-channel', (number) => `Ethernet1/${number}`),
  fresh: freshTrunk,
  byHand: accessByHand,
  interfaces: (command) => ofOneKind(/^interface ((?:Ethernet|port-channel).+)$/.exec(command)?.[1]?.split(', ')),
  vlan: (command) => /^vlan \d+$/.exec(command)?.[0],
  interfaceCommands: switchport,
  channels: { section: (number) => `interface port-channel${number}`, join: channelGroup, shared: switchportKeys },
  channel: /^interface port-channel\d+$/,
  prompt: (mode) => `leaf1${ciscoModes[mode]} `,
  needsEnable: false,
  quiet: /^terminal (length|width) \d+$/,
  show: (command, config) => {
    if (command === 'show vlan brief') return vlanTable(config);
    if (command === 'show running-config | include "version|dot1q tag native"') return 'version 9.3(5)';
    if (command === 'show running-config vlan') return `vlan ${vlanNumbers(config).join(',')}\n${vlanSections(config)}`;
    // it shows no defaults
    const isDefault = (line: string) =>
      ['switchport', 'switchport mode access', 'switchport access vlan 1'].includes(line);
    if (command === 'show running-config interface')
      return `\n!Command: ${command}\n\n${interfacesOf(config, isDefault)}\n\ninterface mgmt0\n  vrf member management\n`;
    if (command === 'show interface switchport') {
      return [...config]
        .filter(([section]) => section.startsWith('interface '))
        .map(([section, lines]) =>
          [
            `Name: ${section.slice('interface '.length)}`,
            `  Switchport: ${lines.get('switchport') === 'no switchport' ? 'Disabled' : 'Enabled'}`,
            `  Operational Mode: ${lines.get('switchport mode')?.split(' ').at(-1) ?? 'access'}`,
            `  Access Mode VLAN: ${lines.get('switchport access vlan')?.split(' ').at(-1) ?? '1'} (default)`,
            `  Trunking Native Mode VLAN: ${lines.get('switchport trunk native vlan')?.split(' ').at(-1) ?? '1'} (default)`,
            `  Trunking VLANs Allowed: ${lines.get('switchport trunk allowed vlan')?.split(' ').at(-1) ?? '1-4094'}`,
            `  Switchport Monitor: ${lines.has('switchport monitor') ? 'Enabled' : 'Not enabled'}`,
            `  Voice VLAN: ${lines.get('switchport voice vlan')?.split(' ').at(-1) ?? 'none'}`,
          ].join('\n'),
        )
        .join('\n');
    }
    return undefined;
  },
  save: 'copy running-config startup-config',
  saved:
    '[########################################] 100%\nCopy complete, now saving to disk (please wait)...\nCopy complete.',
  refusal: () => "                      ^\n% Invalid command at '^' marker.",
};

const shortNames: Readonly<Record<string, string>> = {
  TwoGigabitEthernet: 'Tw',
  TwentyFiveGigE: 'Twe',
  FiftyGigE: 'Fif',
  FiveGigabitEthernet: 'Fi',
  FortyGigabitEthernet: 'Fo',
};

/** `GigabitEthernet1/0/1` is `Gi1/0/1`. */
const shortName = (name: string): string =>
  name.replace(/^[A-Z][A-Za-z-]+(?=\d)/, (kind) => shortNames[kind] ?? kind.slice(0, 2));

function iosSwitchport(name: string, lines: ReadonlyMap<string, string>, isl: boolean): string {
  const last = (key: string, otherwise: string): string => lines.get(key)?.split(' ').at(-1) ?? otherwise;
  const mode = last('switchport mode', 'dynamic auto');
  return [
    `Name: ${shortName(name)}`,
    `Switchport: ${lines.get('switchport') === 'no switchport' ? 'Disabled' : 'Enabled'}`,
    `Administrative Mode: ${mode === 'access' ? 'static access' : mode}`,
    `Operational Mode: ${mode === 'access' ? 'static access' : mode === 'trunk' ? 'trunk' : 'down'}`,
    `Administrative Trunking Encapsulation: ${last('switchport trunk encapsulation', isl ? 'negotiate' : 'dot1q')}`,
    `Access Mode VLAN: ${last('switchport access vlan', '1')} (default)`,
    `Trunking Native Mode VLAN: ${last('switchport trunk native vlan', '1')} (default)`,
    `Voice VLAN: ${last('switchport voice vlan', 'none')}`,
    `Trunking VLANs Enabled: ${last('switchport trunk allowed vlan', 'all').toUpperCase()}`,
    '',
  ].join('\n');
}

const channelIn = (command: string) => /^interface (Port-channel\d+)$/.exec(command)?.slice(1);

const iosXe: TextSystem = {
  name: 'ios-xe',
  port: orBond('Port-channel', (number) => `GigabitEthernet1/0/${number}`),
  fresh: freshTrunk,
  byHand: accessByHand,
  interfaces: (command) => {
    const names = /^interface range (.+)$/.exec(command)?.[1]?.split(' , ') ?? channelIn(command);
    return names && names.length <= 5 ? ofOneKind(names)?.flatMap((part) => between(part, ' - ')) : undefined;
  },
  vlan: (command) => /^vlan \d+$/.exec(command)?.[0],
  interfaceCommands: switchport,
  channels: { section: (number) => `interface Port-channel${number}`, join: channelGroup, shared: switchportKeys },
  channel: /^interface Port-channel\d+$/,
  prompt: (mode) => `a-switch-with-a-long-name${ciscoModes[mode]}`.replace(/^(.{20}).*?(?=\()/, '$1'),
  needsEnable: true,
  quiet: /^terminal (length|width) \d+$/,
  show: (command, config, isl) => {
    if (command === 'show vlan brief') return vlanTable(config);
    const isDefault = (line: string) => ['switchport', 'switchport access vlan 1'].includes(line);
    if (/^show running-config \| section \^interface\|.*\|\^end$/.test(command))
      return `${interfacesOf(config, isDefault)}\nend`;
    if (command === 'show interfaces switchport') {
      return [...config]
        .filter(([section]) => section.startsWith('interface '))
        .map(([section, lines]) => iosSwitchport(section.slice('interface '.length), lines, isl))
        .join('\n');
    }
    return undefined;
  },
  save: 'write memory',
  saved: 'Building configuration...\n[OK]',
  refusal: () => "                      ^\n% Invalid input detected at '^' marker.\n",
};

const os10: TextSystem = {
  name: 'os10',
  port: orBond('port-channel', (number) => `ethernet1/1/${number}`),
  fresh: { ...freshTrunk, 'switchport access vlan': 'switchport access vlan 1' },
  byHand: accessByHand,
  interfaces: (command) => {
    const range = /^interface range ethernet (\d\S+-\d\S+)$/.exec(command)?.[1];
    if (range !== undefined) return between(`ethernet${range}`, '-');
    const name = /^interface ((?:ethernet|port-channel)[^\s-]+)$/.exec(command)?.[1];
    return name === undefined ? undefined : [name];
  },
  vlan: (command) => /^interface (vlan \d+)$/.exec(command)?.[1],
  interfaceCommands: switchport,
  // a member is not a switchport
  channels: {
    section: (number) => `interface port-channel${number}`,
    join: channelGroup,
    shared: ['switchport', 'switchport mode'],
  },
  channel: /^interface port-channel\d+$/,
  clears: (command) => {
    if (command === 'no switchport')
      return ['switchport mode', 'switchport access vlan', 'switchport trunk allowed vlan'];
    return command.startsWith('switchport mode') ? ['switchport'] : [];
  },
  prompt: (mode) =>
    ({
      exec: 'leaf1>',
      privileged: 'leaf1# ',
      config: 'leaf1(config)# ',
      interface: 'leaf1(conf-range-eth1/1/1-1/1/4)# ',
      vlan: 'leaf1(conf-if-vl-100)# ',
    })[mode],
  needsEnable: false,
  quiet: /^terminal length 0$/,
  show: (command, config) => {
    if (command === 'show vlan') {
      const head = 'Codes: * - Default VLAN, M - Management VLAN\n    NUM    Status    Description        Q Ports';
      return [head, ...vlanNumbers(config).map((vlan) => `${vlan === '1' ? '*' : ' '}   ${vlan}      Active`)].join(
        '\n',
      );
    }
    if (!/^show running-configuration( interface)?$/.test(command)) return undefined;
    const vlans = new Map(
      [...config]
        .filter(([section]) => section.startsWith('vlan '))
        .map(([section, lines]) => [
          `interface ${section.replace(' ', '')}`,
          new Map([...lines, ['shutdown', 'no shutdown']]),
        ]),
    );
    const interfaces = `${printConfig(vlans)}\n!\n${interfacesOf(config)}`.replace(
      /^( *description) (.*)$/gm,
      '$1 "$2"',
    );
    return command.endsWith('interface') ? interfaces : `${interfaces}\n!\nsupport-assist\n!`;
  },
  save: 'copy running-configuration startup-configuration',
  saved: '',
  refusal: (command) => `% Error: Unrecognized command: ${command}`,
};

const lag: SectionCommand = { form: /^lag (\d+)$/, key: 'lag' };

function modeOf(lines: ReadonlyMap<string, string>): string {
  if (lines.has('vlan access')) return 'access';
  if (lines.has('vlan trunk native') || lines.has('vlan trunk allowed')) return 'trunk';
  return lines.get('routing') === 'no routing' ? 'trunk' : 'routed';
}

const nativeOf = (lines: ReadonlyMap<string, string>): string =>
  /^vlan (?:access|trunk native) (\d+)/.exec(lines.get('vlan access') ?? lines.get('vlan trunk native') ?? '')?.[1] ??
  '--';

const aosCxBrief = (config: TextConfig): string =>
  [
    'Port      Native  Mode   Type           Enabled Status  Reason                  Speed   Description',
    '          VLAN                                                                  (Mb/s)',
    ...[...config].flatMap(([section, lines]) => {
      const name = /^interface (\S.*)$/.exec(section)?.[1]?.replace(' ', '');
      if (name === undefined) return [];
      const isUp = lines.get('shutdown') !== 'shutdown';
      return `${name.padEnd(10)}${nativeOf(lines).padEnd(8)}${modeOf(lines).padEnd(6)} 25G-DAC3       ${isUp ? 'yes     up  ' : 'no      down    Administratively down'}    --      ${lines.get('description') ?? '--'}`;
    }),
  ].join('\n');

const aosCx: TextSystem = {
  name: 'aos-cx',
  port: orBond('lag', (number) => `1/1/${number}`),
  written: (port) => port.replace('lag', 'lag '),
  fresh: { routing: 'no routing', 'vlan trunk native': 'vlan trunk native 1' },
  byHand: (vlan) => ['no routing', `vlan access ${vlan}`],
  interfaces: (command) => {
    const name = /^interface (\d\S+|lag \d+)(?: multi-chassis(?: static)?)?$/.exec(command)?.[1];
    return name === undefined ? undefined : between(name, '-');
  },
  vlan: (command) => /^vlan \d+$/.exec(command)?.[0],
  interfaceCommands: [
    described,
    { form: /^routing$/, key: 'routing' },
    { form: /^shutdown$/, key: 'shutdown' },
    { form: /^lacp mode (active|passive)$/, key: 'lacp mode' },
    lag,
    { form: /^vlan access \d+$/, key: 'vlan access' },
    { form: /^vlan trunk native \d+$/, key: 'vlan trunk native' },
    { form: /^vlan trunk allowed (all|[\d,-]+)$/, key: 'vlan trunk allowed' },
  ],
  channels: { section: (number) => `interface lag ${number}`, join: lag, shared: [] },
  channel: /^interface lag \d+/,
  clears: (command) => {
    if (lag.form.test(command)) return ['routing', 'vlan access', 'vlan trunk native', 'vlan trunk allowed'];
    const trunk = ['vlan trunk native', 'vlan trunk allowed'];
    if (command === 'routing') return ['routing', 'vlan access', ...trunk];
    return command.startsWith('vlan access') ? trunk : [];
  },
  prompt: (mode) =>
    ({
      exec: 'leaf1> ',
      privileged: 'leaf1# ',
      config: 'leaf1(config)# ',
      interface: 'leaf1(config-if-<1/1/1-1/1/4>)# ',
      vlan: 'leaf1(config-vlan-100)# ',
    })[mode],
  needsEnable: false,
  lineEnd: '\r',
  quiet: /^no page$/,
  show: (command, config) => {
    if (command === 'show interface brief') return aosCxBrief(config);
    return command === 'show running-config'
      ? `Current configuration:\n!\n!Version ArubaOS-CX\nhostname leaf1\nvlan ${vlanNumbers(config).join(',')}\n${vlanSections(config)}\n${interfacesOf(config).replace(/^(interface lag \d+)\n {3}(multi-chassis(?: static)?)$/gm, '$1 $2')}\n!\nhttps-server vrf mgmt`
      : undefined;
  },
  save: 'write memory',
  saved: 'Copying configuration: [Success]',
  refusal: (command) => `Invalid input: ${command}`,
};

export const textSystems = [nxos, iosXe, os10, aosCx];
