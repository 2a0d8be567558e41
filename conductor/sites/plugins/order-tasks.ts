import { findCycles, orderByNeeds } from '#conductor/sites/needs.ts';
import {
  compareDecimals,
  compareText,
  type PluginTask,
  type PluginTasks,
  postfixOf,
  stageRank,
  stageText,
} from '#conductor/sites/plugins/plugin-task.ts';
import { nameSome } from '#shared/words.ts';

export interface OrderedTask {
  readonly plugin: string;
  readonly version: string;
  /** Place in its plugin's file, from 1. */
  readonly number: number;
  readonly task: PluginTask;
  /** Why it stands there, for people. */
  readonly reason: string;
}

export interface OrderFault {
  readonly name: 'DuplicatePlugin' | 'UnknownTask' | 'TaskAcrossStages' | 'TaskCycle';
  readonly plugin: string;
  /** From 1. */
  readonly task?: number;
  readonly message: string;
}

interface Entry extends Omit<OrderedTask, 'reason'> {
  /** Entries of the same stage that come before it, by `requires` or `required_for`. */
  readonly before: Set<Entry>;
}

/**
 * The one order of all plugins' tasks (seed 002, DESIGN.md, fuel-order.md §3): by stage; tasks that are required first;
 * among those that are ready the lowest postfix, then the plugin's name by code point, then the place in the file.
 * Plain values in and out.
 */
export function orderTasks(plugins: readonly PluginTasks[]): {
  readonly order: readonly OrderedTask[];
  readonly faults: readonly OrderFault[];
} {
  const names = plugins.map(({ name }) => name);
  const twice = [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
  if (twice.length > 0) {
    const faults = twice.map(
      (plugin): OrderFault => ({
        name: 'DuplicatePlugin',
        plugin,
        message: `plugin ${plugin} is named twice: a site has one version of a plugin`,
      }),
    );
    return { order: [], faults };
  }
  const entries = plugins
    .flatMap(({ name: plugin, version, tasks }) =>
      tasks.map((task, index): Entry => ({ plugin, version, number: index + 1, task, before: new Set() })),
    )
    .sort(compareEntries);
  const faults = link(entries);
  if (faults.length > 0) return { order: [], faults };
  const places = new Map(entries.map((entry, index) => [entry, index]));
  const needs = entries.map(({ before }) => [...before].flatMap((entry) => places.get(entry) ?? []));
  const entriesAt = (indexes: readonly number[]): Entry[] => indexes.flatMap((index) => entries[index] ?? []);
  const [circle] = findCycles(needs);
  if (circle) return { order: [], faults: [describeCycle(entriesAt(circle).toReversed())] };
  const sorted = entriesAt(orderByNeeds(needs));
  return {
    order: sorted.map((entry, index) => {
      const { before: _, ...place } = entry;
      return { ...place, reason: explain(entry, sorted[index - 1]) };
    }),
    faults: [],
  };
}

function compareEntries(a: Entry, b: Entry): number {
  return (
    stageRank(a.task.stage) - stageRank(b.task.stage) ||
    compareDecimals(postfixOf(a.task.stage), postfixOf(b.task.stage)) ||
    compareText(a.plugin, b.plugin) ||
    a.number - b.number
  );
}

/** Fills in what comes before what. */
function link(entries: readonly Entry[]): OrderFault[] {
  const byId = new Map(
    entries.flatMap((entry) => (entry.task.id === undefined ? [] : [[idOf(entry), entry] as const])),
  );
  const there = nameSome([...byId.keys()].sort(compareText), 10) || 'no task has an id';
  const faults: OrderFault[] = [];
  for (const entry of entries) {
    const fault = (name: OrderFault['name'], message: string): void => {
      faults.push({ name, plugin: entry.plugin, task: entry.number, message: `${describeEntry(entry)}: ${message}` });
    };
    for (const [field, wanted] of [
      ['requires', entry.task.requires],
      ['required_for', entry.task.requiredFor],
    ] as const) {
      for (const id of wanted) {
        const other = byId.get(id);
        if (!other) {
          fault('UnknownTask', `${field} names ${id}, which no task of these plugins is: there are ${there}`);
          continue;
        }
        const [first, then] = field === 'requires' ? [other, entry] : [entry, other];
        const ranks = stageRank(first.task.stage) - stageRank(then.task.stage);
        if (ranks === 0) then.before.add(first);
        else if (ranks > 0) {
          fault(
            'TaskAcrossStages',
            `${field} names ${id}, but ${describeEntry(then)} runs before the image is written and ${describeEntry(first)} after it`,
          );
        }
      }
    }
  }
  return faults;
}

/** Every task of it waits for another one of it. */
function describeCycle(circle: readonly Entry[]): OrderFault {
  const names = [...circle, ...circle.slice(0, 1)].map(idOrPlace);
  return {
    name: 'TaskCycle',
    plugin: circle[0]?.plugin ?? '',
    message: `these tasks wait for each other: ${names.join(' → ')}`,
  };
}

function explain(entry: Entry, previous: Entry | undefined): string {
  const { stage } = entry.task;
  const mine = describePostfix(entry);
  if (!previous || previous.task.stage.name !== stage.name) return `first of ${stage.name}, with ${mine}`;
  const order = compareDecimals(postfixOf(stage), postfixOf(previous.task.stage));
  const isDelayed = compareEntries(entry, previous) < 0;
  if (isDelayed)
    return `after ${[...entry.before].map(idOrPlace).join(', ')}, which must come first; ${mine} alone would put it earlier`;
  if (order > 0) return `${mine} is higher than ${describePostfix(previous)} of ${describeEntry(previous)}`;
  if (entry.plugin !== previous.plugin) {
    return `${mine} as ${describeEntry(previous)} has, and ${entry.plugin} comes after ${previous.plugin} by name`;
  }
  return `${mine} as task ${previous.number} has, which stands before it in ${entry.plugin}'s file`;
}

function describePostfix({ task: { stage } }: Entry): string {
  return stage.postfix === undefined ? 'no postfix (0)' : `postfix ${stage.postfix}`;
}

function describeEntry({ plugin, number, task }: Entry): string {
  return `plugin ${plugin}: task ${number} (${stageText(task.stage)})`;
}

function idOf({ plugin, task }: Entry): string {
  return `${plugin}/${task.id}`;
}

function idOrPlace(entry: Entry): string {
  return entry.task.id === undefined ? `${entry.plugin}: task ${entry.number}` : idOf(entry);
}
