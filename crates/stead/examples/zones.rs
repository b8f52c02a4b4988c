//! x
use std::time::Instant;
use stead::{build, Fleet, Map};
struct R(u64);
impl R { fn n(&mut self, k: u64) -> u64 { self.0 = self.0.wrapping_add(0x9E3779B97F4A7C15); let z=self.0; let z=(z^(z>>30)).wrapping_mul(0xBF58476D1CE4E5B9); let z=(z^(z>>27)).wrapping_mul(0x94D049BB133111EB); (z^(z>>31))%k } }
fn text(nodes: &Vec<(String,u64,usize,usize)>, r: usize, head: &str) -> String {
    let mut t = format!("name = 'z'\nreplicas = {r}\nspread = ['zone','rack']\n{head}");
    for (n,w,z,k) in nodes { t.push_str(&format!("[[node]]\nname='{n}'\nweight={w}\nlabels={{zone='z{z}',rack='{k}'}}\n")); }
    t
}
fn main() {
    let a: Vec<usize> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let (zones, racks, per, r, steps) = (a[0],a[1],a[2],a[3],a[4]);
    let head = if a.len()>5 { format!("max_slices = {}\n", a[5]) } else { String::new() };
    let mut rnd = R(7);
    let mut nodes = vec![];
    for z in 0..zones { for k in 0..racks { for n in 0..per { nodes.push((format!("n{z}-{k:02}-{n:03}"), 100+rnd.n(201), z, k)); } } }
    let t = Instant::now();
    let mut map: Map = build(&Fleet::parse(&text(&nodes,r,&head),"f").unwrap(), None).unwrap();
    println!("first: {} slices {:.3}s {} bytes", map.base_count(), t.elapsed().as_secs_f64(), map.bytes().len());
    let (mut moved, mut bound, mut worst, mut reord) = (0u128,0u128,0f64,0u128);
    let mut times = vec![];
    for s in 0..steps {
        match rnd.n(3) { 0 => nodes.push((format!("new{s}"), 100+rnd.n(201), rnd.n(zones as u64) as usize, rnd.n(racks as u64) as usize)),
          1 => { let i = rnd.n(nodes.len() as u64) as usize; nodes.remove(i); }
          _ => { let i = rnd.n(nodes.len() as u64) as usize; nodes[i].1 = 100+rnd.n(201); } }
        let f = Fleet::parse(&text(&nodes,r,&head),"f").unwrap();
        let t = Instant::now();
        let next = build(&f, Some(&map)).unwrap();
        times.push(t.elapsed().as_secs_f64());
        let p = stead::plan::Amounts::between(&map,&next).unwrap();
        moved += p.moved.0; bound += p.lower_bound.0; 
        if p.lower_bound.0>0 { worst = worst.max(p.moved.0 as f64/p.lower_bound.0 as f64); }
        reord += reordered(&map,&next);
        map = next;
    }
    let mut sorted = times.clone(); sorted.sort_by(|a,b| a.partial_cmp(b).unwrap());
    let total = r as f64 * 2f64.powi(64);
    println!("{} slices, moved/bound {:.4} worst {:.3}, moved {:.2}% reordered {:.2}% time median {:.1}ms worst {:.1}ms, thinnest 2^{}", map.base_count(), moved as f64/bound.max(1) as f64, worst, 100.*moved as f64/total, 100.*reord as f64/total, 1e3*sorted[sorted.len()/2], 1e3*sorted[sorted.len()-1], map.base_slices().map(|s| s.points()).min().unwrap().ilog2());
    let sets: std::collections::BTreeSet<Vec<u32>> = map.base_slices().map(|s| { let mut v: Vec<u32> = map.policy(s.policy).members().map(|m| m.0).collect(); v.sort(); v }).collect();
    let mut runs = 0; let mut prev = vec![]; for s in map.base_slices() { let mut v: Vec<u32> = map.policy(s.policy).members().map(|m| m.0).collect(); v.sort(); if v!=prev { runs+=1; prev=v; } }
    println!("distinct sets {}, runs of one set {}", sets.len(), runs);
}
fn reordered(a: &Map, b: &Map) -> u128 {
    let (x, y): (Vec<_>, Vec<_>) = (a.base_slices().collect(), b.base_slices().collect());
    let name = |m: &Map, p: stead::policy::PolicyId| -> Vec<String> { m.policy(p).members().map(|n| m.node(n).name().to_owned()).collect() };
    let (mut i, mut j, mut sum) = (0,0,0u128);
    let mut first = 0u128;
    while i < x.len() && j < y.len() {
        let last = x[i].last.0.min(y[j].last.0) as u128;
        let (p,q) = (name(a,x[i].policy), name(b,y[j].policy));
        if p[0]!=q[0] && q.contains(&p[0]) { sum += last + 1 - first; }
        first = last + 1;
        if x[i].last.0 as u128 == last { i+=1; }
        if y[j].last.0 as u128 == last { j+=1; }
    }
    sum
}
