import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import type { StepHistory } from '#conductor/sites/rehearsal/engine/course.ts';

/** A flow that has ended, with its steps that have. */
export interface RecordedFlow {
  readonly kind: FlowKindName;
  readonly node: string;
  /** Maker and product of its machine; absent = not known. */
  readonly model?: string | undefined;
  readonly succeeded: boolean;
  readonly steps: readonly { readonly title: string; readonly succeeded: boolean; readonly seconds: number }[];
}

/** Steps of a kind of flow on machines of a model, with their recorded runs. */
export interface KindHistory {
  /** `undefined` = no such flow has succeeded anywhere. */
  readonly steps: readonly StepHistory[] | undefined;
  /** `model`: each step's runs are those of the model alone. */
  readonly basis: 'model' | 'other models' | 'assumed';
  /** Number of flows that they are from. */
  readonly flows: number;
}

/**
 * Makes a function that finds the steps of a kind of flow on machines of a model: those of the model's last flow that
 * succeeded, or else of anybody's. Each step has its runs on machines of the model, or else on all. Pure.
 * @param recorded the newest first
 */
export function historyOf(
  recorded: readonly RecordedFlow[],
): (kind: FlowKindName, model: string | undefined) => KindHistory {
  const byKind = Map.groupBy(recorded, ({ kind }) => kind);
  const known = new Map<string, KindHistory>();
  return (kind, model) => {
    const key = JSON.stringify([kind, model]);
    const history = known.get(key) ?? findHistory(byKind.get(kind) ?? [], model);
    known.set(key, history);
    return history;
  };
}

function findHistory(all: readonly RecordedFlow[], model: string | undefined): KindHistory {
  const own = model === undefined ? [] : all.filter((each) => each.model === model);
  const pattern = own.find(({ succeeded }) => succeeded) ?? all.find(({ succeeded }) => succeeded);
  if (!pattern) return { steps: undefined, basis: 'assumed', flows: 0 };
  const [ofModel, ofAll] = [runsByTitle(own), runsByTitle(all)];
  const histories = new Map<string, StepHistory>();
  const steps = pattern.steps.map(({ title }) => {
    const isOfModel = ofModel.has(title);
    const history = histories.get(title) ?? {
      title,
      ...(ofModel.get(title) ?? ofAll.get(title) ?? { succeeded: [], failed: [] }),
      isOfModel,
    };
    histories.set(title, history);
    return history;
  });
  const isOfModel = own.length > 0 && steps.every((step) => step.isOfModel);
  return { steps, basis: isOfModel ? 'model' : 'other models', flows: isOfModel ? own.length : all.length };
}

type Runs = Pick<StepHistory, 'succeeded' | 'failed'>;

function runsByTitle(flows: readonly RecordedFlow[]): ReadonlyMap<string, Runs> {
  const steps = Map.groupBy(
    flows.flatMap((flow) => flow.steps),
    ({ title }) => title,
  );
  const seconds = (runs: readonly { readonly seconds: number }[]): number[] => runs.map((run) => run.seconds);
  return new Map(
    [...steps].map(([title, runs]) => [
      title,
      {
        succeeded: seconds(runs.filter(({ succeeded }) => succeeded)),
        failed: seconds(runs.filter(({ succeeded }) => !succeeded)),
      },
    ]),
  );
}
