import type { FlowSummaryView } from '#conductor/api/flows.ts';
import type { FaultCode } from '#shared/errors/fault-codes.ts';
import { type StepNode, waitUntil } from '#test/support/step-node.ts';

/** A fault of a night, made in the simulated rack, and all that is to be said of it. */
export interface NightFault {
  readonly happens: string;
  /** Makes it, before the deploy is asked for. */
  readonly make: (node: StepNode) => void;
  /** Makes it amid the deploy, once that was asked for. */
  readonly amid?: (node: StepNode) => Promise<void>;
  readonly code: FaultCode;
  readonly subject?: string;
  /** Status at which it is named, long before the step's time is over. */
  readonly named: Extract<FlowSummaryView['status'], 'failed' | 'retrying' | 'slow'>;
  /** Advice, wherever it is given. */
  readonly says: RegExp;
  /** The conductor's log line about it. */
  readonly logged: RegExp;
  /** Correction on the board that ends it; absent = the way out alone. */
  readonly corrected?: string;
}

const always = Number.POSITIVE_INFINITY;
const image = 'http://images/a';
const never = new Promise<never>(() => undefined);

type AgentFault = 'disk_failing' | 'image_missing' | 'image_checksum' | 'image_too_large' | 'image_unusable';

const failing = (situation: AgentFault, subject: string, message: string) => {
  return ({ machine }: StepNode): void => {
    machine.faults.failStep = { step: 'write_image', message, situation, subject };
  };
};

const writes = (progress: object) => {
  return ({ machine }: StepNode): void => {
    machine.faults.reports = { step: 'write_image', progress: { phase: 'writing image', ...progress } };
    machine.faults.slowStep = { step: 'write_image', until: never };
  };
};

/** Until the image is written, which takes for ever. */
const writing = async (node: StepNode): Promise<void> => {
  await node.runs('write_image');
};

const bmc = (fault: Parameters<StepNode['machine']['bmc']['inject']>[0]) => {
  return ({ machine }: StepNode): void => machine.bmc.inject({ times: always, ...fault });
};

/** Faults that are named within the limits that a conductor ships with. */
export const answeringFaults: readonly NightFault[] = [
  {
    happens: 'the disk fails',
    make: failing('disk_failing', '/dev/sda', 'write /dev/sda: input/output error'),
    code: 'disk_failing',
    subject: '/dev/sda',
    named: 'failed',
    says: /^The disk is failing .*: replace \/dev\/sda/,
    logged: /"code":"disk_failing".*step failed/,
    corrected: 'Correct the root disk',
  },
  {
    happens: 'the image is not there',
    make: failing('image_missing', image, `GET ${image} answered 404`),
    code: 'image_missing',
    subject: image,
    named: 'failed',
    says: /^Look at the image \(http:\/\/images\/a\): it is not on its server/,
    logged: /"code":"image_missing".*step failed/,
    corrected: 'Correct the image',
  },
  {
    happens: 'the checksum is wrong',
    make: failing('image_checksum', image, 'its sha256 is another one'),
    code: 'image_checksum',
    subject: image,
    named: 'failed',
    says: /Correct the checksum/,
    logged: /"code":"image_checksum".*step failed/,
    corrected: 'Correct the image',
  },
  {
    happens: 'a web page comes in place of the image',
    make: failing('image_unusable', image, 'it is a web page, not an image'),
    code: 'image_unusable',
    subject: image,
    named: 'failed',
    says: /can not be written as it is/,
    logged: /"code":"image_unusable".*step failed/,
    corrected: 'Correct the image',
  },
  {
    happens: 'the image is too large',
    make: failing('image_too_large', '/dev/sda', 'the image has 200 GiB'),
    code: 'image_too_large',
    subject: '/dev/sda',
    named: 'failed',
    says: /does not fit on \/dev\/sda/,
    logged: /"code":"image_too_large".*step failed/,
    corrected: 'Correct the image',
  },
  {
    happens: "the image's server refuses connections",
    make: writes({ tries: 2, last_error: 'connect ECONNREFUSED', situation: 'image_server', subject: image }),
    amid: writing,
    code: 'image_server',
    subject: image,
    named: 'retrying',
    says: /its server does not answer the node/,
    // the agent retries by itself: the conductor logs what it waits for
    logged: /step waits/,
  },
  {
    happens: "the image's server stalls",
    make: writes({ done_bytes: 10, still_seconds: 61, situation: 'image_stalled', subject: image }),
    amid: writing,
    code: 'image_stalled',
    subject: image,
    named: 'slow',
    says: /its server sends nothing any more/,
    logged: /step waits/,
  },
  {
    happens: 'the agent hangs amid the image',
    make: ({ machine }) => {
      machine.faults.slowStep = { step: 'write_image', until: never };
    },
    amid: async (node) => {
      await writing(node);
      await node.machine.stopAgent();
    },
    code: 'agent_silent',
    named: 'slow',
    says: /^The agent no longer answers/,
    logged: /step waits/,
  },
  {
    happens: 'somebody switches the machine amid the image',
    make: ({ machine }) => {
      machine.faults.slowStep = { step: 'write_image', until: never };
    },
    amid: async (node) => {
      await writing(node);
      await node.operator.call('PUT', `/v1/nodes/${node.name}/states/power`, { target: 'power off' });
    },
    code: 'power_switched',
    named: 'failed',
    says: /^The machine was switched amid the flow/,
    logged: /"code":"power_switched".*step failed/,
  },
  {
    happens: 'the BMC refuses the reset',
    make: bmc({ method: 'POST', path: /Reset$/, status: 400, body: {} }),
    code: 'bmc_refused',
    named: 'failed',
    says: /^The BMC is the cause, it refuses this/,
    logged: /"code":"bmc_refused".*step failed/,
  },
  {
    happens: 'the BMC fails at the reset',
    make: bmc({ method: 'POST', path: /Reset$/, status: 500, body: {} }),
    code: 'bmc_refused',
    named: 'retrying',
    says: /^The BMC is the cause, it refuses this/,
    logged: /step waits/,
  },
  {
    happens: 'the BMC refuses the login that it took before',
    make: bmc({ path: /.*/, status: 401, body: {} }),
    code: 'bmc_login',
    named: 'retrying',
    says: /^The BMC is the cause: it refuses the login/,
    logged: /step waits/,
    corrected: 'Correct the BMC’s login',
  },
  {
    happens: 'the BMC cuts connections',
    make: bmc({ path: /.*/, drop: true }),
    code: 'bmc_unreachable',
    named: 'retrying',
    says: /^The BMC is the cause, it can't be reached/,
    logged: /step waits/,
    corrected: 'Correct the BMC’s login',
  },
  {
    happens: 'the BMC takes connections and does not answer',
    make: bmc({ path: /.*/, hang: true }),
    code: 'bmc_silent',
    named: 'slow',
    says: /^The BMC is the cause: it accepts connections and does not answer/,
    logged: /the BMC has not answered for a while/,
    corrected: 'Correct the BMC’s login',
  },
];

/** A machine that boots nothing says nothing: its limit is what names it. */
export const silentFault: NightFault = {
  happens: 'the machine boots nothing',
  make: ({ machine }) => {
    machine.faults.bootsNothing = true;
  },
  code: 'ramdisk_silent',
  named: 'failed',
  says: /look at the machine's console/,
  logged: /"code":"ramdisk_silent".*step failed/,
};

/** The conductor wants TLS of agents, and this one has none. */
export const refusedFault: NightFault = {
  happens: "the conductor refuses the agent's heartbeats",
  make: () => undefined,
  code: 'ramdisk_silent',
  named: 'slow',
  says: /^The conductor refuses the machine: .*TLS/,
  logged: /refused/,
};

/** Waits until the API says it of the node's flow. */
export function untilNamed(node: StepNode, { code, named }: NightFault): Promise<FlowSummaryView> {
  return waitUntil(`${code} to be named`, async () => {
    const { flows } = (await node.operator.call('GET', '/v1/flows')) as { readonly flows: readonly FlowSummaryView[] };
    return flows.find((flow) => flow.node_name === node.name && flow.code === code && flow.status === named);
  });
}
