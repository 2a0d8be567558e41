import { inParallel } from '#shared/in-parallel.ts';
import type { DemoSwitches } from '#test/demo/switches.ts';
import type { SimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type SimulatedSite, type SiteMember, siteDocument, startSimulatedSite } from '#test/support/simulated-site.ts';

/** Machines that the demo has, and what is wrong with some of them. */
export interface DemoRack extends Pick<SimulatedSite, 'documents' | 'close'> {
  /** A line each. */
  readonly faults: readonly string[];
  /** The name of the first machine, which has none. */
  readonly first: string;
  /**
   * Makes a node of each machine, so that all are seen at once: the site's action, which goes on with nodes that are there,
   * comes to them group by group.
   */
  enrol(): Promise<void>;
}

const machinesInRack = 12;
const controlNodes = 3;
/** Above it two cores have enough to do without waiting. */
const manyMachines = 100;

/**
 * Starts machines in racks of twelve, three of them control nodes, with a BMC that is dead, a bad disk and a slow link
 * where there are enough for that.
 */
export async function startDemoRack(
  count: number,
  { conductorUrl, portOf }: Pick<DemoSwitches, 'portOf'> & { readonly conductorUrl: string },
): Promise<DemoRack> {
  const members = Array.from({ length: count }, (_, index) => ({
    ...describeMember(index),
    switchPort: portOf(index),
  }));
  const site = await startSimulatedSite(members, {
    conductorUrl: () => conductorUrl,
    stepMs: count > manyMachines ? 200 : 1500,
  });
  const faults = spoil(
    members.flatMap(({ name }) => site.machines.get(name) ?? []),
    members,
  );
  return {
    documents: `${site.documents}---\n${strategy(members)}`,
    faults,
    first: members[0]?.name ?? '',
    enrol: async () => {
      const post = postTo(conductorUrl);
      const enrolOne = async ({ name, rack }: SiteMember): Promise<void> => {
        const machine = site.machines.get(name);
        const fields = { name, driver: 'redfish', driver_info: machine?.driverInfo, properties: { rack } };
        const { uuid } = await post('nodes', fields);
        await post('ports', { node_uuid: uuid, address: machine?.mac });
      };
      await inParallel(members, enrolOne, { atOnce: 16 });
    },
    close: () => site.close(),
  };
}

function postTo(url: string): (collection: string, body: object) => Promise<{ readonly uuid: string }> {
  return async (collection, body) => {
    const answer = await fetch(`${url}/v1/${collection}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-OpenStack-Ironic-API-Version': '1.96' },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`POST ${collection} answered ${answer.status}: ${text}`);
    return JSON.parse(text) as { readonly uuid: string };
  };
}

function describeMember(index: number): SiteMember {
  const rack = String(Math.floor(index / machinesInRack) + 1).padStart(2, '0');
  const place = String((index % machinesInRack) + 1).padStart(2, '0');
  return { name: `r${rack}-n${place}`, rack: `rack${rack}`, tags: [index < controlNodes ? 'control' : 'worker'] };
}

/** The last ones: they are in groups that may fail. */
function spoil(machines: readonly SimulatedNode[], members: readonly SiteMember[]): string[] {
  const [slow, disk, bmc] = [machines.length - 3, machines.length - 2, machines.length - 1];
  if (slow < controlNodes) return [];
  const [slowMachine, diskMachine, bmcMachine] = [machines[slow], machines[disk], machines[bmc]];
  if (slowMachine) slowMachine.faults.slowStep = { step: 'write_image', ms: 45_000 };
  if (diskMachine) {
    diskMachine.faults.failingDisks = true;
    diskMachine.faults.failStep = {
      step: 'write_image',
      message: 'write /dev/sda at 3221225472: I/O error',
      situation: 'disk_failing',
      subject: '/dev/sda',
    };
  }
  bmcMachine?.bmc.inject({ path: /.*/, drop: true, times: Number.POSITIVE_INFINITY });
  return [
    `${members[slow]?.name} has a slow link`,
    `${members[disk]?.name} has a bad disk`,
    `${members[bmc]?.name} has a dead BMC`,
  ];
}

function strategy(members: readonly SiteMember[]): string {
  const racks = [...new Set(members.map(({ rack }) => rack))];
  const workers = racks.map((rack) => ({
    name: `workers-${rack}`,
    critical: false,
    depends_on: ['control'],
    selectors: [{ rack_names: [rack], node_tags: ['worker'] }],
    success_criteria: { percent_successful_nodes: 75 },
    deploy_as_prepared: true,
  }));
  const control = { name: 'control', critical: true, depends_on: [], selectors: [{ node_tags: ['control'] }] };
  return siteDocument('shipyard/DeploymentStrategy/v1', 'deployment-strategy', {
    max_parallel_groups: 4,
    groups: [control, ...workers],
  });
}
