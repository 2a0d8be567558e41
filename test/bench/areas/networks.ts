import { portVlans } from '#conductor/model/port-vlans.ts';
import { createNetworkConnector, type NetworkConnector } from '#conductor/networks/connect-node.ts';
import type { SwitchConnection, SwitchDriver } from '#conductor/networks/switch-driver.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { run } from '#shared/process/run.ts';
import { type Area, type BenchContext, type Figure, median, round } from '#test/bench/area.ts';
import { startAosCxApi } from '#test/simulators/switch/aos-cx-api.ts';
import { startEosApi, startEosSwitch } from '#test/simulators/switch/eos.ts';
import { startJunosNetconf, startJunosSwitch } from '#test/simulators/switch/junos.ts';
import { startNvueSwitch } from '#test/simulators/switch/nvue-api.ts';
import { startOpenconfigSwitch } from '#test/simulators/switch/openconfig.ts';
import { freshCumulus, freshLinux, startProgramSwitch } from '#test/simulators/switch/program-switch.ts';
import type { ServedSwitch, SwitchFaults } from '#test/simulators/switch/switch-server.ts';
import { startNxApi, startTextSwitch } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';
import { accessTo } from '#test/simulators/switch/under-test.ts';
import { startOpenVswitch } from '#test/support/open-vswitch.ts';

/** Time that switches take, milliseconds: a login, and a command. */
const loginMs = 1000;
const commandMs = 30;
const portsOfSwitch = 48;
const fleet = { switches: 40, nodesOfEach: 25 };
const moves = 60;

/** Moves of nodes between networks, on simulated switches over SSH and on a real Open vSwitch. */
export const networksArea: Area = {
  name: 'networks',
  measure: async (context) => ({
    ...(await measureOneSwitch(context)),
    ...(await measureFleet(context)),
    ...(await measureOpenVswitch(context)),
  }),
};

interface BenchSwitch {
  readonly id: string;
  readonly driver: string;
  readonly ports: readonly string[];
  readonly server: Slowable;
}

/** A simulated switch over whichever transport; one over HTTPS has no login of its own. */
type Slowable = ServedSwitch & { readonly faults: Partial<Pick<SwitchFaults, 'loginMs' | 'commandMs'>> } & {
  readonly logins?: { readonly most: number };
};

const ports = (count: number, form: (number: number) => string) =>
  Array.from({ length: count }, (_, index) => form(index + 1));
const networksOf = { provisioning: 100, cleaning: 100, tenant: 200 };

function connectorOf(
  entries: readonly { readonly id: string; readonly driver: string; readonly endpoint: string }[],
  driverOf: (name: string) => SwitchDriver,
): NetworkConnector {
  return createNetworkConnector(
    {
      switches: entries.map(({ id, driver, endpoint }) => ({ switchId: id, driver, endpoint })),
      networks: Object.entries(networksOf).map(([name, vlan]) => ({ name, vlans: portVlans(vlan) })),
      defaults: { provisioning: 'provisioning', cleaning: 'cleaning', tenant: 'tenant' },
    },
    driverOf,
  );
}

/** The drivers log in with the simulations' password; the file of a password is not a part of what is measured. */
function connectorTo(switches: readonly BenchSwitch[]): NetworkConnector {
  const byEndpoint = new Map(switches.map(({ server }) => [server.endpoint, server]));
  const entries = switches.map(({ id, driver, server }) => ({ id, driver, endpoint: server.endpoint }));
  return connectorOf(entries, (name) => ({
    ...findSwitchDriver(name),
    connect: ({ endpoint }): SwitchConnection => {
      const server = byEndpoint.get(endpoint);
      if (!server) throw new Error(`no switch ${endpoint}`);
      return findSwitchDriver(name).connect(accessTo(server));
    },
  }));
}

const nodeOn = (id: string, port: string, purpose: 'provisioning' | 'tenant') => ({
  nodeUuid: '',
  networkInterface: 'switchport',
  ports: [
    {
      uuid: `${id} ${port}`,
      portgroupUuid: null,
      physicalNetwork: null,
      address: `${id} ${port}`,
      pxeEnabled: true,
      localLinkConnection: { switch_id: id, port_id: port },
    },
  ],
  destination: { purpose },
});

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}

async function measureOneSwitch({ say }: BenchContext): Promise<Record<string, Figure>> {
  const names = ports(portsOfSwitch, (number) => `Ethernet${number}`);
  const junosNames = ports(portsOfSwitch, (number) => `ge-0/0/${number - 1}`);
  const linuxNames = ports(portsOfSwitch, (number) => `swp${number}`);
  const aosCxNames = ports(portsOfSwitch, (number) => `1/1/${number}`);
  const nxos = textSystems.find(({ name }) => name === 'nxos');
  if (!nxos) throw new Error('no nxos');
  const nxosNames = ports(portsOfSwitch, nxos.port);
  const starts: Readonly<Record<string, () => Promise<Pick<BenchSwitch, 'ports' | 'server'>>>> = {
    eos: async () => ({ ports: names, server: await startEosSwitch({ ports: names, vlans: [1, 100, 200] }) }),
    junos: async () => ({ ports: junosNames, server: await startJunosSwitch(junosNames) }),
    linux: async () => ({ ports: linuxNames, server: await startProgramSwitch(freshLinux(linuxNames)) }),
    eos_https: async () => ({ ports: names, server: await startEosApi({ ports: names, vlans: [1, 100, 200] }) }),
    nxos_https: async () => ({ ports: nxosNames, server: await startNxApi(nxos) }),
    cumulus_https: async () => ({ ports: linuxNames, server: await startNvueSwitch(freshCumulus(linuxNames)) }),
    'aos-cx_https': async () => ({ ports: aosCxNames, server: await startAosCxApi(aosCxNames) }),
    junos_netconf: async () => ({ ports: junosNames, server: await startJunosNetconf(junosNames) }),
    openconfig_netconf: async () => ({ ports: names, server: await startOpenconfigSwitch(names) }),
    ...Object.fromEntries(
      textSystems.map((system) => [
        system.name,
        async () => ({
          ports: ports(portsOfSwitch, system.port),
          server: await startTextSwitch(system, [1, 100, 200]),
        }),
      ]),
    ),
  };
  const figures: Record<string, Figure> = {};
  for (const [name, start] of Object.entries(starts)) {
    const [driver = ''] = name.split('_');
    say(`${name}: one port, then ${portsOfSwitch}`);
    const started = await start();
    Object.assign(started.server.faults, { loginMs, commandMs });
    const one = connectorTo([{ id: driver, driver, ...started }]);
    const oneS = await seconds(() => one.connect(nodeOn(driver, started.ports[0] ?? '', 'provisioning')));
    await one.close();
    const all = connectorTo([{ id: driver, driver, ...started }]);
    const allS = await seconds(() =>
      Promise.all(started.ports.map((port) => all.connect(nodeOn(driver, port, 'tenant')))),
    );
    await all.close();
    await started.server.stop();
    figures[`move_48_ratio_${name}`] = { value: round(allS / oneS, 2), unit: `times one port's ${round(oneS)} s` };
  }
  const worst = Math.max(...Object.values(figures).map(({ value }) => value));
  return { move_48_ratio: { value: worst, unit: "times one port's, the worst of drivers and transports" }, ...figures };
}

async function measureFleet({ say }: BenchContext): Promise<Record<string, Figure>> {
  say(`${fleet.switches * fleet.nodesOfEach} nodes on ${fleet.switches} switches`);
  const switches: BenchSwitch[] = [];
  const names = ports(fleet.nodesOfEach, (number) => `Ethernet${number}`);
  try {
    for (let index = 0; index < fleet.switches; index += 1) {
      const server = await startEosSwitch({ ports: names, vlans: [1, 100, 200] });
      Object.assign(server.faults, { loginMs, commandMs });
      switches.push({ id: `leaf${index}`, driver: 'eos', ports: names, server });
    }
    const connector = connectorTo(switches);
    const taken = await seconds(() =>
      Promise.all(
        switches.flatMap(({ id }) => names.map((port) => connector.connect(nodeOn(id, port, 'provisioning')))),
      ),
    );
    await connector.close();
    const most = Math.max(...switches.map(({ server }) => server.logins?.most ?? 0));
    return {
      move_1000_s: { value: round(taken), unit: 's' },
      move_1000_logins: { value: most, unit: 'logins at the same time, the most of a switch' },
    };
  } finally {
    for (const { server } of switches) await server.stop();
  }
}

async function measureOpenVswitch({ say }: BenchContext): Promise<Record<string, Figure>> {
  const present = await run('sh', ['-c', 'command -v ovs-vswitchd'], { okExitCodes: [0, 1, 127] });
  if (present.exitCode !== 0) {
    say('ovs_move_ms_p50 left out: no ovs-vswitchd');
    return {};
  }
  const real = await startOpenVswitch(`ovs-b${process.pid}`);
  const connector = connectorOf([{ id: 'ovs', driver: 'ovs', endpoint: real.endpoint }], findSwitchDriver);
  try {
    const times: number[] = [];
    for (let move = 0; move < moves; move += 1) {
      const purpose = move % 2 ? 'tenant' : 'provisioning';
      times.push(1000 * (await seconds(() => connector.connect(nodeOn('ovs', 'p1', purpose)))));
    }
    return { ovs_move_ms_p50: { value: round(median(times)), unit: 'ms' } };
  } finally {
    await connector.close();
    await real.stop();
  }
}
