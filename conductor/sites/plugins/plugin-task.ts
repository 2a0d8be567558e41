import type { JsonObject } from '#conductor/model/json-object.ts';
import type { StepInterface } from '#shared/wire/step.ts';

/** A task's `stage`, parsed. */
export interface TaskStage {
  readonly name: 'pre_deployment' | 'post_deployment';
  /** As it is written: `100.0`, `-99.9`; absent = none, which counts as 0. */
  readonly postfix?: string;
}

/** What a task does. Timeouts are seconds. */
export type TaskWork =
  | {
      readonly type: 'shell';
      /** Given to `/bin/sh -c`. */
      readonly cmd: string;
      readonly timeout: number;
      /** From the folder of the plugin's scripts; absent = that folder. */
      readonly cwd?: string;
      readonly env?: Readonly<Record<string, string>>;
    }
  | {
      readonly type: 'step';
      readonly interface: StepInterface;
      readonly step: string;
      readonly args: JsonObject;
      readonly timeout?: number;
    }
  | { readonly type: 'reboot'; readonly timeout: number };

/** One task of a plugin's `tasks.yaml`, checked. */
export type PluginTask = TaskWork & {
  /** Unique in its plugin. */
  readonly id?: string;
  /** Tags of nodes; `*` = all nodes. */
  readonly roles: '*' | readonly string[];
  readonly stage: TaskStage;
  /** Tasks of the same stage that come before, and after: `plugin/id`. */
  readonly requires: readonly string[];
  readonly requiredFor: readonly string[];
};

/** A plugin with its tasks in the file's order. */
export interface PluginTasks {
  readonly name: string;
  readonly version: string;
  /** `contentHash`; absent where nobody has uploaded it. */
  readonly content?: string;
  readonly tasks: readonly PluginTask[];
}

/** `post_deployment/100`, as it was written. */
export function stageText({ name, postfix }: TaskStage): string {
  return postfix === undefined ? name : `${name}/${postfix}`;
}
