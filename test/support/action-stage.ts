import { getAction, listActionSteps, type SiteAction } from '#conductor/flows/site-actions/action-store.ts';
import { loadRun } from '#conductor/flows/site-actions/run-store.ts';
import { openApiCaller } from '#conductor/kernel/caller.ts';
import { reportSite, type SiteReport } from '#conductor/model/site/site-report.ts';
import { listNotes } from '#conductor/sites/actions/action-notes.ts';
import type { SiteOperations } from '#conductor/sites/actions/action-work.ts';
import { controlAction } from '#conductor/sites/actions/control-action.ts';
import {
  actionBecomes,
  commitRevision,
  forgetActions,
  hasEnded,
  makeAction,
  type RunnerLife,
  startLife,
} from '#conductor/sites/actions/testing/action-lab.ts';
import {
  createWorld,
  makeSite,
  type SiteWorld,
  type WorldOptions,
} from '#conductor/sites/actions/testing/site-world.ts';
import { listTags } from '#conductor/sites/revisions/revision-store.ts';
import { seedNodes, seedStrategy } from '#conductor/sites/strategy/testing/seed-example.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** The example of seed 001. */
export const seedSite = makeSite(seedNodes, seedStrategy);

export interface BeginOptions extends Partial<WorldOptions> {
  readonly name?: string;
  readonly parameters?: Record<string, unknown>;
}

/** Actions on a database in memory, that act on a world without machines. */
export interface ActionStage {
  readonly api: TestApi;
  /** Has conductor `a` run one, of the seed's site unless it is said otherwise. */
  begin(options?: BeginOptions): Promise<{ id: string; world: SiteWorld; revision: number; life: RunnerLife }>;
  /** A conductor's runner, until `clear`. */
  startLife(operations: SiteOperations, name: string): RunnerLife;
  control(id: string, verb: string): Promise<unknown>;
  ended(id: string): Promise<SiteAction>;
  /** Names and states. */
  steps(id: string): Promise<[string, string][]>;
  /** Reads the tags of all revisions, but `committed`. */
  tags(): Promise<{ tag: string; data: Record<string, unknown> }[]>;
  report(id: string): Promise<SiteReport>;
  /** `subject: text` */
  notes(id: string, verbosity?: number): Promise<string[]>;
  /** Stops its conductors, and forgets all actions and revisions. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export async function openActionStage(): Promise<ActionStage> {
  const api = await openTestApi({ settings: { BATON_SITE_BEAT_INTERVAL: '0.02', BATON_RECONCILE_INTERVAL: '0.05' } });
  const { context } = api;
  const lives: RunnerLife[] = [];
  const begin = (operations: SiteOperations, name: string): RunnerLife => {
    const life = startLife(context, operations, { name });
    lives.push(life);
    return life;
  };
  return {
    api,
    startLife: begin,
    begin: async ({ name = 'deploy_site', parameters = {}, ...rest } = {}) => {
      const world = createWorld(context.db, { site: () => seedSite, ...rest });
      const revision = await commitRevision(context);
      const id = await makeAction(context, world.operations, { name, parameters });
      return { id, world, revision, life: begin(world.operations, 'a') };
    },
    control: (id, verb) => controlAction(context, id, { verb, caller: openApiCaller }),
    ended: (id) => actionBecomes(context, id, hasEnded),
    steps: async (id) =>
      (await listActionSteps(context.db, [await getAction(context.db, id)])).map(({ step, state }) => [step, state]),
    tags: async () =>
      (await listTags(context.db)).filter(({ tag }) => tag !== 'committed').map(({ tag, data }) => ({ tag, data })),
    report: async (id) => {
      const run = await loadRun(context.db, id, 1);
      if (!run) throw new Error('no run');
      return reportSite(run);
    },
    notes: async (id, verbosity = 5) =>
      (await listNotes(context.db, [id], { verbosity })).map(({ subject, text }) =>
        subject ? `${subject}: ${text}` : text,
      ),
    clear: async () => {
      await Promise.all(lives.splice(0).map((life) => life.stop()));
      await forgetActions(context);
    },
    close: () => api.close(),
  };
}
