import { notRecorded, readAnswers } from '#test/recorded/recorded-answers.ts';
import type { Answer } from '#test/simulators/redfish/answers.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import type { SimulatedMachine } from '#test/simulators/redfish/machine.ts';
import { resetPath, systemPath } from '#test/simulators/redfish/resources.ts';
import type { Counters } from '#test/simulators/redfish/service-state.ts';

/** A recorded tree in place of the simulator's own: the BMC shows it, with what was set since, and nothing beside it. */
export interface RecordedTree {
  /** Quirks that name the recorded system, and the values that it takes. */
  readonly quirks: Partial<Quirks>;
  /** Puts the machine into the recorded state. */
  begin(machine: SimulatedMachine): Promise<void>;
  /** Tells whether the recording shows this; the path is one of the simulator itself. */
  knows(method: string, path: string): boolean;
  /** Finds what was recorded for a request that the simulator has answered. */
  show(asked: URL, own: Answer, counters: Counters): Answer;
}

type Resource = Readonly<Record<string, unknown>>;

/** Services that a BMC needs for itself, recorded or not. */
const ofLogins = /^\/redfish\/v1\/SessionService\//;

/** @param outputs recorded answers, by `GET /path` */
export function recordedTree(outputs: Readonly<Record<string, string>>): RecordedTree {
  const find = readAnswers(outputs);
  const read = (path: string): Resource => {
    const { status, body } = find('GET', new URL(path, 'http://bmc')) ?? notRecorded;
    return status === 200 && body.startsWith('{') ? (JSON.parse(body) as Resource) : {};
  };
  const members = read('/redfish/v1/Systems')['Members'];
  const [only, ...others] = Array.isArray(members) ? (members as { '@odata.id'?: string }[]) : [];
  const place = others.length === 0 ? only?.['@odata.id'] : undefined;
  const system = place === undefined ? {} : read(place);
  const boot = system['Boot'] as Resource | undefined;
  const resets = (system['Actions'] as Readonly<Record<string, Resource>> | undefined)?.['#ComputerSystem.Reset'];
  const targets = boot?.['BootSourceOverrideTarget@Redfish.AllowableValues'];
  const types = resets?.['ResetType@Redfish.AllowableValues'];
  return {
    quirks: {
      ...(place === undefined ? {} : { paths: { [systemPath]: place } }),
      ...(Array.isArray(targets) ? { bootTargets: targets as string[] } : {}),
      ...(Array.isArray(types) ? { resetTypes: types as string[] } : {}),
    },
    begin: async (machine) => {
      if (system['PowerState'] === 'On') await machine.setPower('on');
    },
    knows: (method, path) => {
      if (method === 'GET' || ofLogins.test(path)) return true;
      return (
        (method === 'PATCH' && path === systemPath && boot !== undefined) ||
        (path === resetPath && resets !== undefined)
      );
    },
    show: (asked, own, counters) => {
      if (own.status === 401 || ofLogins.test(asked.pathname)) return own;
      const shown = find('GET', asked) ?? notRecorded;
      const isAsRecorded = asked.pathname !== place || counters.powerChanges + counters.bootChanges === 0;
      return isAsRecorded ? shown : { ...shown, body: sinceThen(system, own.body as Resource, counters) };
    },
  };
}

const override = ['Target', 'Enabled', 'Mode'].map((name) => `BootSourceOverride${name}`);

/** The recorded system with the power and the boot device that were set since. */
function sinceThen(system: Resource, own: Resource, { powerChanges, bootChanges }: Counters): Resource {
  const now = own['Boot'] as Resource;
  const set = Object.fromEntries(override.map((name) => [name, now[name]]));
  return {
    ...system,
    ...(powerChanges > 0 ? { PowerState: own['PowerState'] } : {}),
    ...(bootChanges > 0 ? { Boot: { ...(system['Boot'] as Resource), ...set } } : {}),
  };
}
