import type { FlowView } from '#conductor/api/flows.ts';
import { find, get, Refused, send } from '#conductor/board/data/ask-api.ts';
import { type ArchivedFile, readArchive } from '#conductor/board/data/read-archive.ts';
import { planOf } from '#conductor/board/page/ask-about-nodes.ts';
import type { RateSample } from '#conductor/board/render/node/draw-rate.ts';
import type { Hardware, ShownInventory, ShownReceipt } from '#conductor/board/render/node/render-hardware.ts';
import type { HistoryLine } from '#conductor/board/render/node/render-node.ts';
import type { NodePlan } from '#conductor/board/render/node/render-plans.ts';
import type { BoardNode } from '#conductor/board/render/render-board.ts';

const shownHistory = 200;
const retryMs = 3000;
/** Samples of a write's rate that are kept: five minutes of one a second. */
const keptRates = 300;
const noHardware: Hardware = { inventory: undefined, switchPorts: [], receipts: [] };
const nothing = {
  flow: undefined as FlowView | undefined,
  isRead: false,
  /** Why flow and history could not be read the last time. */
  error: undefined as string | undefined,
  history: [] as readonly HistoryLine[],
  hardware: noHardware,
  logs: undefined as readonly ArchivedFile[] | undefined,
  plan: undefined as NodePlan | undefined,
  rates: [] as readonly RateSample[],
};

/** Data of the node whose page is open, beside what the fleet has of it. */
export interface NodePage {
  readonly now: Readonly<typeof nothing>;
  /** Another node's page, or none. */
  forget(): void;
  /** Reads it; a refusal is shown in its place, and it is asked for again. @throws LoginNeeded, NoAnswer */
  read(uuid: string): Promise<void>;
  /** The agent's logs, as they were collected last. @throws LoginNeeded, Refused */
  readLogs(uuid: string): Promise<void>;
  /** Reads the plan of what would be done; a refusal is shown in its place. */
  readPlan(node: BoardNode, target: string): Promise<void>;
  /** Notes how fast an image is written. */
  noteProgress(progress: unknown): void;
}

const stageOf = (flow: FlowView | undefined): string =>
  `${flow?.uuid} ${flow?.state} ${flow?.steps.filter(({ ended_at: end }) => end !== null).length}`;

export function createNodePage(options: {
  readonly isOpen: (uuid: string) => boolean;
  readonly mayReadReceipts: () => boolean;
  readonly onChange: () => void;
  readonly onTrouble: (error: unknown) => void;
}): NodePage {
  const { isOpen, mayReadReceipts, onChange, onTrouble } = options;
  const state = { now: nothing };
  const put = (uuid: string, change: Partial<typeof nothing>): void => {
    if (!isOpen(uuid)) return;
    state.now = { ...state.now, ...change };
    onChange();
  };
  const readHardware = async (uuid: string): Promise<void> => {
    const [found, network, wiped] = await Promise.all([
      find<{ readonly inventory: ShownInventory }>(`v1/nodes/${uuid}/inventory`),
      find<{ readonly ports: Hardware['switchPorts'] }>(`v1/nodes/${uuid}/network`),
      mayReadReceipts()
        ? find<{ readonly receipts: readonly ShownReceipt[] }>(`api/v1.0/receipts?node=${uuid}&limit=20`)
        : undefined,
    ]);
    const [switchPorts, receipts] = [network?.ports ?? [], wiped?.receipts ?? []];
    put(uuid, { hardware: { inventory: found?.inventory, switchPorts, receipts } });
  };
  const readFlow = async (uuid: string): Promise<void> => {
    const [flow, { history }] = await Promise.all([
      find<FlowView>(`v1/nodes/${uuid}/flow`),
      get<{ readonly history: readonly HistoryLine[] }>(`v1/nodes/${uuid}/history?detail=true`),
    ]);
    // hardware is seen, ports are moved and wipes are proved by steps
    const isNews = stageOf(flow) !== stageOf(state.now.flow) || state.now.hardware === noHardware;
    put(uuid, { flow, isRead: true, error: undefined, history: history.toReversed().slice(0, shownHistory) });
    if (isNews) readHardware(uuid).catch(onTrouble);
  };
  const read = async (uuid: string): Promise<void> => {
    try {
      await readFlow(uuid);
    } catch (error) {
      // no event comes of a conductor that answers again
      if (!(error instanceof Refused)) throw error;
      put(uuid, { error: error.message });
      setTimeout(() => {
        if (isOpen(uuid) && state.now.error !== undefined) void read(uuid).catch(onTrouble);
      }, retryMs);
    }
  };
  return {
    get now() {
      return state.now;
    },
    forget: () => {
      state.now = nothing;
    },
    read,
    readLogs: async (uuid) => {
      const { body } = await send({ method: 'GET', path: `v1/nodes/${uuid}/flow/logs` });
      if (body) put(uuid, { logs: await readArchive(body) });
    },
    readPlan: async (node, target) => {
      put(node.uuid, { plan: await planOf(node, target) });
    },
    noteProgress: (progress) => {
      const rate = typeof progress === 'object' && progress !== null ? Reflect.get(progress, 'rate') : undefined;
      if (typeof rate !== 'number') return;
      state.now = { ...state.now, rates: [...state.now.rates, { at: Date.now(), rate }].slice(-keptRates) };
    },
  };
}
