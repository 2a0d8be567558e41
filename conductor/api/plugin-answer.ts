/** A plugin in a list. */
export interface PluginAnswer {
  readonly name: string;
  readonly version: string;
  readonly title: string | null;
  readonly tasks: readonly PluginTaskAnswer[];
  readonly created_by: string | null;
  readonly created_at: string;
}

/** One alone. */
export interface PluginDetailAnswer extends PluginAnswer {
  /** `tasks.yaml`, as it came. */
  readonly tasks_text: string;
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly executable: boolean }[];
}

export interface PluginTaskAnswer {
  /** Place in `tasks.yaml`, from 1. */
  readonly task: number;
  readonly id: string | null;
  readonly role: '*' | readonly string[];
  /** As it is written there. */
  readonly stage: string;
  readonly type: 'shell' | 'step' | 'reboot';
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly requires: readonly string[];
  readonly required_for: readonly string[];
}

/** `GET /api/v1.0/plugins/order` */
export interface PluginOrderAnswer {
  readonly tasks: readonly (PluginTaskAnswer & {
    /** From 1. */
    readonly position: number;
    readonly plugin: string;
    readonly version: string;
    /** Of the convention that its postfix is in. */
    readonly range: string | null;
    readonly reason: string;
  })[];
  readonly ranges: readonly { readonly from: number; readonly to: number; readonly meaning: string }[];
}
