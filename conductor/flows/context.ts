import type { AgentsContext } from '#conductor/agents/context.ts';
import type { FlowsConfig, PluginFiles } from '#conductor/flows/flows-config.ts';
import type { StepTable } from '#conductor/flows/step-context.ts';
import type { Nudging } from '#conductor/nodes/context.ts';
import type { Run } from '#shared/process/run.ts';

/** `started` and `recorded` are commits to the intent log; a crash at `acted` makes the step run twice. */
export type Checkpoint = 'started' | 'acted' | 'recorded';

/** Means that the engine may use: it works on nodes that others have asked it to, and asks for nothing itself. */
export interface EngineContext extends AgentsContext, Nudging {
  readonly config: FlowsConfig;
  /** Steps that this release knows to run. */
  readonly steps: StepTable;
  readonly pluginFiles: PluginFiles;
  /** Called where a crash must lose nothing; tests kill, fail or stop there. */
  readonly checkpoint: (name: Checkpoint) => void;
}

/** Means that requests to the engine may use. */
export interface FlowsContext extends EngineContext {
  /** Starts processes on this host. */
  readonly run: Run;
}
