export * from '#conductor/db/schema/agent-session.ts';
export * from '#conductor/db/schema/flow.ts';
export * from '#conductor/db/schema/node.ts';
export * from '#conductor/db/schema/node-trait.ts';
export * from '#conductor/db/schema/node-vif.ts';
export * from '#conductor/db/schema/port.ts';
