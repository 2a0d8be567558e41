import type { ActionAnswer } from '#conductor/api/actions.ts';
import type { FlowView } from '#conductor/api/flows.ts';
import { find, get, getAll, LoginNeeded, NoAnswer } from '#conductor/board/data/ask-api.ts';
import { choicesOf, questionAbout } from '#conductor/board/page/ask-about-nodes.ts';
import { reasonOf } from '#conductor/board/page/ask-first.ts';
import type { View, ViewButton, Viewer } from '#conductor/board/page/show-view.ts';
import { arrangeTroubles, listAborted, type Trouble } from '#conductor/board/render/arrange-troubles.ts';
import { actionsForRows, type FleetAction } from '#conductor/board/render/board-actions.ts';
import { adviseOnDistrust } from '#conductor/board/render/describe-attestation.ts';
import { type OtherTrouble, renderAttention } from '#conductor/board/render/render-attention.ts';
import type { ListedAllocation, ListedConductor } from '#conductor/board/render/render-lists.ts';
import { readActions } from '#conductor/board/views/site-view.ts';
import { inParallel } from '#shared/in-parallel.ts';

const againMs = 5000;
/** Number of troubles for which advice is asked. */
const advised = 20;

/** `#attention/`: what of the fleet needs somebody; it follows the fleet, and asks for the rest. */
export const attentionView: View = {
  title: 'Attention',
  read: async (_rest, viewer) => {
    const { fleet } = viewer;
    const troubles = (): Trouble[] => arrangeTroubles(fleet.flows.values(), fleet.nodes);
    // what the fleet needs is known without them
    const unread = (error: unknown): readonly OtherTrouble[] => {
      if (error instanceof LoginNeeded) throw error;
      const name = 'allocations, actions and conductors';
      return [{ what: '? not read', name, reason: reasonOf(error), href: '#attention/', since: null }];
    };
    const [others, advice] = await Promise.all([readOthers(viewer).catch(unread), readAdvice(troubles())]);
    const mayChange = viewer.role !== 'reader';
    return {
      render: (now) =>
        renderAttention(
          {
            troubles: troubles(),
            others,
            advice,
            isKnown: fleet.isKnown,
            nodes: [...fleet.nodes.values()],
            aborted: listAborted(fleet.flows.values(), fleet.nodes),
            working: [...fleet.flows.values()].filter(({ ended_at: end }) => end === null).length,
            buttonsOf: (trouble) => (mayChange ? buttonsFor(trouble) : []),
          },
          now,
        ),
      buttons: () => troubles().flatMap(buttonsFor),
      againMs,
    };
  },
};

/** Said at once, beside the choice of all. */
const direct = /^(Try now|Skip |Go on|Correct |Release |Begin maintenance|Adopt |Manage as it is)/;

/** Actions that try again after a failure, by the kind of flow, or by the state in which a node rests. */
const again: readonly (readonly [failed: RegExp, title: string])[] = [
  // as the advice has it
  [/^deploy/, 'Rebuild'],
  [/^inspect/, 'Inspect'],
  [/^(verify|enroll|clean|manual_clean|wipe)/, 'Manage'],
];

/** Lists the buttons for what may be done with its nodes. Pure. */
export function buttonsFor({ key, status, rows }: Trouble): readonly ViewButton[] {
  // it is looked at and accepted by command; nothing that the board does would help
  if (status === 'distrusted') return [];
  const isOver = status === 'failed' || status === 'error';
  const [first] = rows;
  const kind = first?.flow?.kind ?? first?.node?.provision_state ?? '';
  const [, repeated] = (isOver && again.find(([failed]) => failed.test(kind))) || [];
  const actions = actionsForRows(rows);
  const button = (title: string, action: FleetAction): ViewButton => ({
    name: `${key}-${title.replaceAll(/\W+/g, '-')}`,
    title: `${title}…`,
    isInRow: true,
    asks: questionAbout(action),
  });
  const buttons = Object.entries(actions).flatMap(([title, action]) =>
    direct.test(title) || title === repeated ? [button(title, action)] : [],
  );
  const all: ViewButton = {
    name: `${key}-act`,
    title: 'Act…',
    isInRow: true,
    asks: { meaning: 'Of each, those that it can be done to.', choices: choicesOf(actions) },
  };
  return [...buttons, all];
}

/** Reads the advice that the conductor has for the first node of each. */
async function readAdvice(troubles: readonly Trouble[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const read = async ({ key, status, rows: [first] }: Trouble): Promise<void> => {
    if (status === 'distrusted' && first?.node) found.set(key, adviseOnDistrust(first.node));
    if (!first?.flow) return;
    const flow = await find<FlowView>(`v1/nodes/${first.flow.node_uuid}/flow`).catch((error: unknown) => {
      // no advice is none that could be wrong
      if (error instanceof NoAnswer) return undefined;
      throw error;
    });
    if (typeof flow?.advice === 'string') found.set(key, flow.advice);
  };
  await inParallel(troubles.slice(0, advised), read, { atOnce: 4 });
  return found;
}

async function readOthers(viewer: Viewer): Promise<readonly OtherTrouble[]> {
  const fields = 'uuid,name,state,last_error,waiting_for,created_at';
  const isEverywhere = viewer.project === null;
  const [allocations, conductors, actions] = await Promise.all([
    getAll<ListedAllocation>(`v1/allocations?fields=${fields}`, 'allocations'),
    isEverywhere
      ? get<{ readonly conductors: readonly ListedConductor[] }>('v1/conductors?fields=hostname,alive,updated_at')
      : { conductors: [] },
    isEverywhere ? readActions() : [],
  ]);
  return [
    ...allocations.flatMap(({ uuid, name, state, last_error: error, waiting_for: waits, created_at: since }) =>
      state === 'active'
        ? []
        : [
            {
              what: state === 'error' ? '✖ allocation failed' : '… allocation waits',
              name: name ?? uuid,
              reason: error ?? waits,
              href: '#allocations/',
              since,
            },
          ],
    ),
    ...conductors.conductors.flatMap(({ hostname, alive, updated_at: since }) =>
      alive
        ? []
        : [
            {
              what: '✖ conductor is silent',
              name: hostname,
              reason: 'its nodes go to others of its group, or wait',
              href: '#conductors/',
              since,
            },
          ],
    ),
    ...actionTroubles(actions),
  ];
}

/**
 * Every action that is paused; of those that have failed the newest, and the newest that changes the site: a
 * `verify_site` runs beside that. Pure.
 * @param actions the newest first
 */
export function actionTroubles(
  actions: readonly Pick<ActionAnswer, 'id' | 'name' | 'action_lifecycle' | 'error' | 'ended_at'>[],
): readonly OtherTrouble[] {
  const latest = new Set([actions[0], actions.find(({ name }) => name !== 'verify_site')]);
  return actions
    .filter((each) => each.action_lifecycle === 'Paused' || (each.action_lifecycle === 'Failed' && latest.has(each)))
    .map(({ id, name, action_lifecycle: state, error, ended_at: since }) => ({
      what: `${state === 'Paused' ? '‖' : '✖'} action ${state.toLowerCase()}`,
      name,
      reason: error,
      href: `#site/${encodeURIComponent(id)}`,
      since,
    }));
}
