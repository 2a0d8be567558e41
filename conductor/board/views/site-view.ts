import type { ActionAnswer, ActionDryRun, ActionNodeAnswer } from '#conductor/api/actions.ts';
import { type ApiRequest, get, send } from '#conductor/board/data/ask-api.ts';
import type { Question } from '#conductor/board/page/ask-first.ts';
import type { View, ViewButton } from '#conductor/board/page/show-view.ts';
import { renderDryRun } from '#conductor/board/render/site/render-dry-run.ts';
import { renderSite, type SitePicture } from '#conductor/board/render/site/render-site.ts';

const path = 'api/v1.0/actions';
const listedActions = 20;
/** Intervals of reading: of an action under way, and else. */
const againMs = { open: 1000, ended: 10_000 } as const;

/** `#site/`: the action under way, or the last one; `#site/ID`: that one. */
export const siteView: View = {
  title: 'Site',
  read: async (id, { role, uuidOf }) => {
    const actions = await readActions();
    const shown = id === '' ? (actions.find(({ ended_at: end }) => end === null) ?? actions[0])?.id : id;
    const picture: SitePicture = { actions, uuidOf, ...(shown === undefined ? noAction : await readAction(shown)) };
    const isOpen = picture.action !== undefined && picture.action.ended_at === null;
    return {
      render: (now) => renderSite(picture, now),
      buttons: role === 'admin' ? buttonsFor(picture) : [],
      againMs: isOpen ? againMs.open : againMs.ended,
    };
  },
};

/** The newest, and all that have not ended. */
export async function readActions(): Promise<readonly ActionAnswer[]> {
  const [newest, open] = await Promise.all(
    [`limit=${listedActions}`, 'open=true'].map((query) => get<readonly ActionAnswer[]>(`${path}?${query}`)),
  );
  const byId = new Map([...(newest ?? []), ...(open ?? [])].map((action) => [action.id, action]));
  return [...byId.values()];
}

const noAction = { action: undefined, failed: [], working: [] };

async function readAction(id: string): Promise<Omit<SitePicture, 'actions' | 'uuidOf'>> {
  const onePath = `${path}/${encodeURIComponent(id)}`;
  const nodes = async (query: string) =>
    (await get<{ readonly nodes: readonly ActionNodeAnswer[] }>(`${onePath}/nodes?${query}`)).nodes;
  const [action, failed, working] = await Promise.all([
    get<ActionAnswer>(onePath),
    nodes('status=failure'),
    nodes('working=true'),
  ]);
  return { action, failed, working };
}

const controls = {
  pause: {
    title: 'Pause',
    meaning: 'Nothing new is begun. Nodes at work end the phase that they are in, and then the action rests.',
  },
  unpause: { title: 'Continue', meaning: 'The action goes on where it rests.' },
  skip: {
    title: 'Skip',
    meaning:
      'Groups go past the window, the canaries or the health gate that they wait for now, for the rest of the action. Batches and limits of nodes that are out stay.',
  },
  stop: {
    title: 'Cancel',
    meaning:
      'Nodes at work are broken off, and the action ends. What is deployed stays deployed; a disk that was being written stays half-written.',
  },
} as const;

/** Lists the buttons for what may be done now, in the manner of `controlAction`. Pure. */
export function buttonsFor({ action, actions }: Pick<SitePicture, 'action' | 'actions'>): readonly ViewButton[] {
  const control = (name: keyof typeof controls): ViewButton[] => {
    if (!action) return [];
    const { title, meaning } = controls[name];
    const request: ApiRequest = { method: 'POST', path: `${path}/${action.id}/control/${name}` };
    const question: Question = {
      title: `${title}: ${action.name} ${action.id}`,
      meaning,
      prepare: () => ({ sending: [{ name: action.name, request }] }),
    };
    return [{ name, title, asks: question }];
  };
  if (action && action.ended_at === null) {
    if (action.action_lifecycle === 'Stopping') return [];
    const mayGoOn = control(action.action_lifecycle === 'Paused' ? 'unpause' : 'pause');
    const maySkip = action.groups?.some(({ may_skip: may }) => may) === true;
    return [...mayGoOn, ...(maySkip ? control('skip') : []), ...control('stop')];
  }
  return actions.some(({ ended_at: end }) => end === null) ? [] : [deployButton];
}

const starts = [
  ['Deploy the site', 'deploy_site', {}],
  ['Update the site', 'update_site', {}],
  ['Deploy, over commits between', 'deploy_site', { 'allow-intermediate-commits': true }],
  ['Update, over commits between', 'update_site', { 'allow-intermediate-commits': true }],
] as const;

const deployButton: ViewButton = {
  name: 'start',
  title: 'Start an action…',
  asks: {
    meaning:
      'Each is a dry run first: which groups and nodes, in which order. Commits that no action has deployed are skipped only if that is said.',
    choices: starts.map(([title, name, parameters]) => [title, startQuestion(title, name, parameters)]),
  },
};

function startQuestion(title: string, name: string, parameters: object): Question {
  const request = (more: object): ApiRequest => ({
    method: 'POST',
    path,
    body: { name, parameters: { ...parameters, ...more } },
  });
  return {
    title: `${title}: ${name}`,
    meaning: 'The site is brought to what the committed documents say, group after group.',
    asking: 'Asking what would be done…',
    prepare: async () => {
      const answer = await send(request({ dry_run: true }));
      const plan = (await answer.json()) as ActionDryRun;
      const isWrong = plan.validations.some(({ level }) => level === 'Error');
      return { html: renderDryRun(plan), sending: isWrong ? [] : [{ name, request: request({}) }] };
    },
  };
}
