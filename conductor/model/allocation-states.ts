export type AllocationState = 'allocating' | 'active' | 'error';
