import { expect, test } from 'vitest';
import { run } from '#shared/process/run.ts';
import { startEosSwitch } from '#test/simulators/switch/eos.ts';
import { startJunosSwitch } from '#test/simulators/switch/junos.ts';
import type { SwitchServer } from '#test/simulators/switch/switch-server.ts';
import { startTextSwitch } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';

/** An independent client, netmiko, on our simulated switches: their prompts, modes and refusals are what it expects of the system. */

const judge = `
import sys
from netmiko import ConnectHandler
kind, port, password, show, configure, *lines = sys.argv[1:]
with ConnectHandler(device_type=kind, host="127.0.0.1", port=int(port), username="baton", password=password) as switch:
    if kind != "juniper_junos":
        switch.enable()
    print("prompt", switch.find_prompt())
    print("shows", switch.send_command(show))
    print("refuses", switch.send_command("show nonsense"))
    print("takes", switch.send_config_set(lines, exit_config_mode=kind != "juniper_junos", config_mode_command=configure or None))
    if kind == "juniper_junos":
        switch.commit()
`;

const textSystem = (name: string) => {
  const system = textSystems.find((each) => each.name === name);
  if (!system) throw new Error(`no simulated ${name}`);
  return startTextSwitch(system, [1, 100]);
};
const access = ['switchport mode access', 'switchport access vlan 100'];

test.concurrent.each([
  {
    kind: 'arista_eos',
    start: () => startEosSwitch({ ports: ['Ethernet1'], vlans: [1, 100] }),
    show: 'show vlan | json',
    says: ['prompt leaf1#', '"100"', 'refuses % Invalid input'],
    configure: 'configure session judge',
    lines: ['interface Ethernet1', ...access],
  },
  {
    kind: 'cisco_nxos',
    start: () => textSystem('nxos'),
    show: 'show vlan brief',
    says: ['prompt leaf1#', 'VLAN0100', 'refuses', '% Invalid command', '(config-if-range)#'],
    lines: ['interface Ethernet1/1', ...access],
  },
  {
    kind: 'cisco_ios',
    start: () => textSystem('ios-xe'),
    show: 'show vlan brief',
    says: ['VLAN0100', '% Invalid input detected', '(config-if-range)#'],
    lines: ['interface range GigabitEthernet1/0/1', ...access],
  },
  {
    kind: 'dell_os10',
    start: () => textSystem('os10'),
    show: 'show vlan',
    says: ['prompt leaf1#', '100', '% Error: Unrecognized command', '(conf-'],
    lines: ['interface ethernet1/1/1', ...access],
  },
  {
    kind: 'juniper_junos',
    start: () => startJunosSwitch(['ge-0/0/0']),
    show: 'show configuration vlans | display set',
    says: ['prompt baton@leaf1>', 'set vlans default vlan-id 1', 'unknown command', '[edit]'],
    lines: ['set vlans baton-100 vlan-id 100'],
  },
] satisfies {
  kind: string;
  start: () => Promise<SwitchServer>;
  show: string;
  says: string[];
  configure?: string;
  lines: string[];
}[])('netmiko finds our switch to be a $kind', async ({ kind, start, show, says, lines, ...more }) => {
  const simulated = await start();
  try {
    const argv = [
      kind,
      simulated.endpoint.split(':')[2] ?? '',
      simulated.password,
      show,
      more.configure ?? '',
      ...lines,
    ];
    const { stdout } = await run('/usr/bin/python3', ['-c', judge, ...argv], { timeoutMs: 180_000 });
    for (const words of says) expect(stdout).toContain(words);
  } finally {
    await simulated.stop();
  }
});
