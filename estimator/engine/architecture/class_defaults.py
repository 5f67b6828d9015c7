"""What a config.json means where it is silent: the defaults of each model_type's class.

Source: the declared defaults of the configuration classes of transformers 5.24.0, read 2026-11-29, cut to the keys the
reader uses (a default of null or false is left out, but for the tie flag); types that transformers does not know
(remote code) are written from the families' published configs. One line for each type: `type key=value …`.
"""

from collections.abc import Mapping

_TEXT = """
RefinedWeb tie_word_embeddings=true multi_query=true parallel_attn=true
RefinedWebModel tie_word_embeddings=true multi_query=true parallel_attn=true
afmoe vocab_size=200192 hidden_size=2048 intermediate_size=6144 moe_intermediate_size=1408 num_hidden_layers=32
    num_dense_layers=1 num_attention_heads=16 head_dim=128 max_position_embeddings=16384 tie_word_embeddings=false
    num_experts=64 num_experts_per_tok=6 num_shared_experts=2 global_attn_every_n_layers=4 sliding_window=1024
apertus vocab_size=131072 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 num_attention_heads=32
    max_position_embeddings=65536 tie_word_embeddings=false
apertus1p5_text vocab_size=266752 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32
    num_attention_heads=32 max_position_embeddings=65536 tie_word_embeddings=false
aquila tie_word_embeddings=false
arcee vocab_size=32000 hidden_size=2560 intermediate_size=18432 num_hidden_layers=32 num_attention_heads=32
    max_position_embeddings=4096 tie_word_embeddings=false
aria_text vocab_size=32000 hidden_size=4096 intermediate_size=4096 num_hidden_layers=32 num_attention_heads=32
    max_position_embeddings=2048 tie_word_embeddings=false moe_num_experts=8
    moe_topk=2 moe_num_shared_experts=2
axk1 vocab_size=163840 hidden_size=7168 intermediate_size=18432 moe_intermediate_size=2048 num_hidden_layers=61
    num_attention_heads=64 num_key_value_heads=64 head_dim=64 max_position_embeddings=32768
    tie_word_embeddings=false num_experts_per_tok=8 kv_lora_rank=512 q_lora_rank=1536 qk_nope_head_dim=128
    qk_rope_head_dim=64 v_head_dim=128 n_routed_experts=192 n_shared_experts=1 first_k_dense_replace=1
aya_vision tie_word_embeddings=true
baichuan tie_word_embeddings=false
bailing_moe tie_word_embeddings=false
bailing_moe_v2 tie_word_embeddings=false
bamba vocab_size=128000 tie_word_embeddings=false hidden_size=4096 intermediate_size=14336 num_hidden_layers=32
    num_attention_heads=32 num_key_value_heads=8 max_position_embeddings=262144 mamba_n_heads=128 mamba_d_head=auto
    mamba_n_groups=1 mamba_d_state=256 mamba_d_conv=4 mamba_expand=2 mamba_conv_bias=true
biogpt vocab_size=42384 hidden_size=1024 intermediate_size=4096 num_hidden_layers=24 num_attention_heads=16
    max_position_embeddings=1024 tie_word_embeddings=true
bitnet vocab_size=128256 hidden_size=2560 intermediate_size=6912 num_hidden_layers=30 num_attention_heads=20
    num_key_value_heads=5 max_position_embeddings=2048 tie_word_embeddings=false
bloom vocab_size=250880 hidden_size=64 n_layer=2 n_head=8 tie_word_embeddings=true
chatglm tie_word_embeddings=false add_qkv_bias=true
code_llama vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32
    max_position_embeddings=2048 tie_word_embeddings=false
codegen vocab_size=50400 n_positions=2048 n_ctx=2048 n_embd=4096 n_layer=28 n_head=16 tie_word_embeddings=false
cohere vocab_size=256000 hidden_size=8192 intermediate_size=22528 num_hidden_layers=40 num_attention_heads=64
    max_position_embeddings=8192 tie_word_embeddings=true
cohere2 vocab_size=256000 hidden_size=8192 intermediate_size=22528 num_hidden_layers=40 num_attention_heads=64
    max_position_embeddings=8192 tie_word_embeddings=true sliding_window=4096
cohere2_vision tie_word_embeddings=true
cwm vocab_size=128256 hidden_size=6144 intermediate_size=21504 num_hidden_layers=64 num_attention_heads=48
    num_key_value_heads=8 max_position_embeddings=131072 tie_word_embeddings=false head_dim=128 sliding_window=8192
dbrx d_model=2048 n_heads=16 n_layers=24 max_seq_len=2048 vocab_size=32000 tie_word_embeddings=false
deepseek tie_word_embeddings=false
deepseek_ref vocab_size=129280 hidden_size=4096 moe_intermediate_size=2048 num_hidden_layers=43
    num_attention_heads=64 num_key_value_heads=1 head_dim=512 q_lora_rank=1024 num_experts_per_tok=6
    n_routed_experts=256 n_shared_experts=1 max_position_embeddings=1048576 hc_mult=4 sliding_window=128 o_groups=8
    o_lora_rank=1024 index_n_heads=64 index_head_dim=128 index_topk=512 num_nextn_predict_layers=1
    tie_word_embeddings=false
deepseek_v2 vocab_size=102400 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32
    max_position_embeddings=2048 tie_word_embeddings=false first_k_dense_replace=0 kv_lora_rank=512 q_lora_rank=1536
    n_routed_experts=64 n_shared_experts=2 qk_nope_head_dim=128 qk_rope_head_dim=64 v_head_dim=128
    moe_intermediate_size=1407
deepseek_v3 vocab_size=129280 hidden_size=7168 intermediate_size=18432 moe_intermediate_size=2048
    num_hidden_layers=61 num_attention_heads=128 num_key_value_heads=128 n_shared_experts=1 n_routed_experts=256
    kv_lora_rank=512 q_lora_rank=1536 qk_rope_head_dim=64 v_head_dim=128 qk_nope_head_dim=128 num_experts_per_tok=8
    first_k_dense_replace=3 max_position_embeddings=4096 tie_word_embeddings=false
deepseek_v32 vocab_size=129280 hidden_size=7168 intermediate_size=18432 moe_intermediate_size=2048
    num_hidden_layers=61 num_attention_heads=128 num_key_value_heads=128 n_shared_experts=1 n_routed_experts=256
    kv_lora_rank=512 q_lora_rank=1536 qk_rope_head_dim=64 v_head_dim=128 qk_nope_head_dim=128 num_experts_per_tok=8
    max_position_embeddings=163840 tie_word_embeddings=false index_topk=2048 index_head_dim=128 index_n_heads=64
    head_dim=64 first_k_dense_replace=3
deepseek_v4 vocab_size=129280 hidden_size=4096 moe_intermediate_size=2048 num_hidden_layers=43
    num_attention_heads=64 num_key_value_heads=1 head_dim=512 q_lora_rank=1024 num_experts_per_tok=6
    n_routed_experts=256 n_shared_experts=1 max_position_embeddings=1048576 hc_mult=4 sliding_window=128 o_groups=8
    o_lora_rank=1024 index_n_heads=64 index_head_dim=128 index_topk=512 num_nextn_predict_layers=1
    tie_word_embeddings=false
dots1 vocab_size=152064 hidden_size=4608 intermediate_size=10944 moe_intermediate_size=1408 num_hidden_layers=62
    num_attention_heads=32 num_key_value_heads=32 first_k_dense_replace=0 max_position_embeddings=2048
    tie_word_embeddings=false sliding_window=4096 max_window_layers=62
ernie4_5 vocab_size=103424 hidden_size=1024 intermediate_size=3072 num_hidden_layers=18 num_attention_heads=16
    num_key_value_heads=2 max_position_embeddings=131072 tie_word_embeddings=true head_dim=128
ernie4_5_moe vocab_size=103424 hidden_size=2560 intermediate_size=12288 num_hidden_layers=28 num_attention_heads=20
    num_key_value_heads=4 max_position_embeddings=131072 tie_word_embeddings=true moe_intermediate_size=1536 moe_k=6
    moe_num_experts=64 moe_num_shared_experts=2 moe_layer_start_index=1 moe_layer_end_index=-1 moe_layer_interval=1
exaone vocab_size=102400 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 num_attention_heads=32
    num_key_value_heads=8 max_position_embeddings=4096 tie_word_embeddings=false
exaone4 vocab_size=102400 hidden_size=4096 intermediate_size=16384 num_hidden_layers=32 num_attention_heads=32
    num_key_value_heads=32 max_position_embeddings=2048 tie_word_embeddings=false sliding_window=4096
    sliding_window_pattern=4
exaone_moe vocab_size=102400 hidden_size=4096 intermediate_size=16384 num_hidden_layers=32 num_attention_heads=32
    num_key_value_heads=32 max_position_embeddings=2048 tie_word_embeddings=false sliding_window=4096
    sliding_window_pattern=4 first_k_dense_replace=1 moe_intermediate_size=1024 num_experts=64 num_experts_per_tok=8
    num_shared_experts=1
falcon vocab_size=65024 hidden_size=4544 num_hidden_layers=32 num_attention_heads=71 multi_query=true
    parallel_attn=true max_position_embeddings=2048 tie_word_embeddings=true
falcon_h1 vocab_size=128000 tie_word_embeddings=false hidden_size=4096 intermediate_size=14336 num_hidden_layers=32
    num_attention_heads=32 num_key_value_heads=8 max_position_embeddings=8192 mamba_d_ssm=1024 mamba_n_heads=128
    mamba_d_head=auto mamba_n_groups=1 mamba_d_state=256 mamba_d_conv=4 mamba_expand=2 mamba_conv_bias=true
falcon_mamba vocab_size=50280 hidden_size=768 state_size=16 num_hidden_layers=32 expand=2 conv_kernel=4
    use_conv_bias=true time_step_rank=auto tie_word_embeddings=true
flex_olmo vocab_size=100352 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32
    max_position_embeddings=4096 tie_word_embeddings=false num_experts_per_tok=5 num_experts=7
gemma vocab_size=256000 hidden_size=3072 intermediate_size=24576 num_hidden_layers=28 num_attention_heads=16
    num_key_value_heads=16 head_dim=256 max_position_embeddings=8192 tie_word_embeddings=true
gemma2 vocab_size=256000 hidden_size=2304 intermediate_size=9216 num_hidden_layers=26 num_attention_heads=8
    num_key_value_heads=4 head_dim=256 max_position_embeddings=8192 tie_word_embeddings=true sliding_window=4096
gemma3 tie_word_embeddings=true
gemma3_text vocab_size=262208 hidden_size=2304 intermediate_size=9216 num_hidden_layers=26 num_attention_heads=8
    num_key_value_heads=4 head_dim=256 max_position_embeddings=131072 tie_word_embeddings=true sliding_window=4096
gemma3n tie_word_embeddings=true
gemma3n_text vocab_size=262400 hidden_size=2048 intermediate_size=16384 num_hidden_layers=35 num_attention_heads=8
    num_key_value_heads=2 head_dim=256 max_position_embeddings=32768 tie_word_embeddings=true sliding_window=512
    vocab_size_per_layer_input=262144 hidden_size_per_layer_input=256 altup_num_inputs=4 num_kv_shared_layers=15
    laurel_rank=64
gemma4 tie_word_embeddings=true
gemma4_text vocab_size=262144 hidden_size=2304 intermediate_size=9216 num_hidden_layers=30 num_attention_heads=8
    num_key_value_heads=4 head_dim=256 max_position_embeddings=131072 tie_word_embeddings=true sliding_window=512
    vocab_size_per_layer_input=262144 hidden_size_per_layer_input=256 num_kv_shared_layers=0
gemma4_unified_text vocab_size=262144 hidden_size=2304 intermediate_size=9216 num_hidden_layers=30
    num_attention_heads=8 num_key_value_heads=4 head_dim=256 max_position_embeddings=262144 tie_word_embeddings=true
    sliding_window=1024
glm vocab_size=151552 hidden_size=4096 intermediate_size=13696 num_hidden_layers=40 num_attention_heads=32
    num_key_value_heads=2 head_dim=128 max_position_embeddings=131072 tie_word_embeddings=false attention_bias=true
glm4 vocab_size=151552 hidden_size=4096 intermediate_size=13696 num_hidden_layers=40 num_attention_heads=32
    num_key_value_heads=2 head_dim=128 max_position_embeddings=131072 tie_word_embeddings=false attention_bias=true
glm4_moe vocab_size=151552 hidden_size=4096 intermediate_size=10944 num_hidden_layers=46 num_attention_heads=96
    num_key_value_heads=8 max_position_embeddings=131072 tie_word_embeddings=false moe_intermediate_size=1408
    num_experts_per_tok=8 n_shared_experts=1 n_routed_experts=128 first_k_dense_replace=1
glm4_moe_lite first_k_dense_replace=1 vocab_size=154880 hidden_size=2048 intermediate_size=10240
    moe_intermediate_size=1536
    num_hidden_layers=47 num_attention_heads=20 num_key_value_heads=20 n_shared_experts=1 n_routed_experts=64
    kv_lora_rank=512 q_lora_rank=768 qk_rope_head_dim=64 v_head_dim=256 qk_nope_head_dim=192 num_experts_per_tok=4
    max_position_embeddings=202752 tie_word_embeddings=false
glm4v tie_word_embeddings=false
glm4v_moe tie_word_embeddings=false
glm4v_moe_text vocab_size=151424 hidden_size=4096 intermediate_size=10944 num_hidden_layers=46
    num_attention_heads=96 num_key_value_heads=8 max_position_embeddings=65536 tie_word_embeddings=false
    attention_bias=true moe_intermediate_size=1408 num_experts_per_tok=8 n_shared_experts=1 n_routed_experts=128
    first_k_dense_replace=1
glm4v_text vocab_size=151552 hidden_size=4096 intermediate_size=13696 num_hidden_layers=40 num_attention_heads=32
    num_key_value_heads=2 max_position_embeddings=32768
glm_moe_dsa vocab_size=154880 hidden_size=6144 intermediate_size=12288 moe_intermediate_size=2048
    num_hidden_layers=78 num_attention_heads=64 num_key_value_heads=64 n_shared_experts=1 n_routed_experts=256
    kv_lora_rank=512 q_lora_rank=2048 qk_rope_head_dim=64 v_head_dim=256 qk_nope_head_dim=192 num_experts_per_tok=8
    max_position_embeddings=202752 tie_word_embeddings=false index_topk=2048 index_head_dim=128 index_n_heads=32
    head_dim=64 first_k_dense_replace=3
glm_ocr_text vocab_size=59392 hidden_size=1024 intermediate_size=4096 num_hidden_layers=16 num_attention_heads=16
    num_key_value_heads=8 max_position_embeddings=131072
gpt-sw3 vocab_size=50257 n_positions=1024 n_embd=768 n_layer=12 n_head=12 tie_word_embeddings=true
gpt2 vocab_size=50257 n_positions=1024 n_embd=768 n_layer=12 n_head=12 tie_word_embeddings=true
gpt_bigcode vocab_size=50257 n_positions=1024 n_embd=768 n_layer=12 n_head=12 multi_query=true
    tie_word_embeddings=true
gpt_neo vocab_size=50257 max_position_embeddings=2048 hidden_size=2048 num_layers=24 num_heads=16
    tie_word_embeddings=true
gpt_neox vocab_size=50432 hidden_size=6144 num_hidden_layers=44 num_attention_heads=64 intermediate_size=24576
    max_position_embeddings=2048 tie_word_embeddings=false use_parallel_residual=true attention_bias=true
gpt_oss num_hidden_layers=36 num_local_experts=128 vocab_size=201088 hidden_size=2880 intermediate_size=2880
    head_dim=64 num_attention_heads=64 num_key_value_heads=8 sliding_window=128 tie_word_embeddings=false
    max_position_embeddings=131072 num_experts_per_tok=4 attention_bias=true
gptj vocab_size=50400 n_positions=2048 n_embd=4096 n_layer=28 n_head=16 tie_word_embeddings=false
granite vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32
    max_position_embeddings=2048 tie_word_embeddings=false
granite_swa vocab_size=100352 hidden_size=2560 intermediate_size=8192 num_hidden_layers=24 num_attention_heads=20
    num_key_value_heads=4 max_position_embeddings=8192 tie_word_embeddings=true sliding_window=128
granitemoe vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32
    max_position_embeddings=2048 tie_word_embeddings=false num_local_experts=8 num_experts_per_tok=2
granitemoe_swa vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32
    max_position_embeddings=2048 tie_word_embeddings=false sliding_window=128
    num_local_experts=8 num_experts_per_tok=2 shared_intermediate_size=0
granitemoehybrid vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32
    num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false num_local_experts=8
    num_experts_per_tok=2 shared_intermediate_size=1024 mamba_n_heads=128 mamba_n_groups=1 mamba_d_state=256
    mamba_d_head=auto mamba_d_conv=4 mamba_expand=2 mamba_conv_bias=true
granitemoeshared vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32
    num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false num_local_experts=8
    num_experts_per_tok=2 shared_intermediate_size=0
grok-1 tie_word_embeddings=true
helium vocab_size=48000 hidden_size=2560 intermediate_size=7040 num_hidden_layers=24 num_attention_heads=20
    num_key_value_heads=20 head_dim=128 max_position_embeddings=4096 tie_word_embeddings=false
hunyuan vocab_size=290943 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32
    max_position_embeddings=2048 tie_word_embeddings=false num_experts=1 moe_topk=1
hunyuan_v1_dense vocab_size=290943 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32
    num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false
hunyuan_v1_moe vocab_size=290943 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32
    num_attention_heads=32 max_position_embeddings=2048 tie_word_embeddings=false num_experts=1 moe_topk=1
hy_v3 vocab_size=120832 hidden_size=4096 intermediate_size=13312 num_hidden_layers=80 num_attention_heads=64
    first_k_dense_replace=1
    num_key_value_heads=8 head_dim=128 max_position_embeddings=131072 tie_word_embeddings=false num_experts=192
    num_experts_per_tok=8 num_shared_experts=1 moe_intermediate_size=1536
hyperclovax vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32
    max_position_embeddings=2048 tie_word_embeddings=false use_post_norm=true
idefics3 tie_word_embeddings=false
internlm bias=true tie_word_embeddings=false
internlm2 bias=true tie_word_embeddings=false
internlm3 vocab_size=128512 hidden_size=4096 intermediate_size=10240 num_hidden_layers=48 num_attention_heads=32
    num_key_value_heads=2 max_position_embeddings=32768 tie_word_embeddings=false head_dim=128
internvl tie_word_embeddings=true
iquestcoder vocab_size=76800 hidden_size=5120 intermediate_size=27648 num_hidden_layers=80 num_attention_heads=40
    num_key_value_heads=8 max_position_embeddings=131072 tie_word_embeddings=false head_dim=128
jais2 vocab_size=150272 hidden_size=3328 intermediate_size=26624 num_hidden_layers=32 num_attention_heads=26
    max_position_embeddings=8192 tie_word_embeddings=false attention_bias=true mlp_bias=true
jamba vocab_size=65536 tie_word_embeddings=false hidden_size=4096 intermediate_size=14336 num_hidden_layers=32
    num_attention_heads=32 num_key_value_heads=8 max_position_embeddings=262144 num_experts_per_tok=2 num_experts=16
    expert_layer_period=2 expert_layer_offset=1 attn_layer_period=8 attn_layer_offset=4 mamba_d_state=16
    mamba_d_conv=4 mamba_expand=2 mamba_dt_rank=auto mamba_conv_bias=true
kimi_k2 vocab_size=129280 hidden_size=7168 intermediate_size=18432 moe_intermediate_size=2048 num_hidden_layers=61
    num_attention_heads=128 num_key_value_heads=128 n_shared_experts=1 n_routed_experts=256 kv_lora_rank=512
    q_lora_rank=1536 qk_rope_head_dim=64 v_head_dim=128 qk_nope_head_dim=128 num_experts_per_tok=8
    first_k_dense_replace=3 max_position_embeddings=4096 tie_word_embeddings=false num_nextn_predict_layers=0
kimi_k25 tie_word_embeddings=true
kimi_linear first_k_dense_replace=1 vocab_size=163840 hidden_size=2304 intermediate_size=9216 moe_intermediate_size=1024
    num_hidden_layers=27 num_attention_heads=32 num_key_value_heads=32 n_shared_experts=1 kv_lora_rank=512
    qk_rope_head_dim=64 v_head_dim=128 qk_nope_head_dim=128 num_experts_per_tok=8 max_position_embeddings=1048576
    tie_word_embeddings=false num_local_experts=256 linear_head_dim=128 linear_num_heads=32 linear_conv_kernel_dim=4
lfm2 vocab_size=65536 hidden_size=2560 intermediate_size=12288 num_hidden_layers=32 num_attention_heads=32
    num_key_value_heads=8 max_position_embeddings=128000 tie_word_embeddings=true conv_L_cache=3
    block_multiple_of=256 block_ffn_dim_multiplier=1.0 block_auto_adjust_ff_dim=true
lfm2_moe vocab_size=65536 hidden_size=2048 intermediate_size=7168 moe_intermediate_size=1792 num_hidden_layers=32
    tie_word_embeddings=true max_position_embeddings=128000 num_attention_heads=32 num_key_value_heads=8
    conv_L_cache=3 num_dense_layers=2 num_experts_per_tok=4 num_experts=32
llama vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32
    max_position_embeddings=2048 tie_word_embeddings=false
llama4 tie_word_embeddings=false
llama4_text vocab_size=202048 hidden_size=5120 intermediate_size=8192 intermediate_size_mlp=16384
    num_hidden_layers=48 num_attention_heads=40 num_key_value_heads=8 head_dim=128 max_position_embeddings=131072
    tie_word_embeddings=false num_experts_per_tok=1 num_local_experts=16 interleave_moe_layer_step=1
    use_qk_norm=true no_rope_layer_interval=4 attention_chunk_size=8192
llava tie_word_embeddings=false
llava_next tie_word_embeddings=false
llava_onevision tie_word_embeddings=false
longcat_flash vocab_size=131072 hidden_size=6144 num_layers=28 num_attention_heads=64 max_position_embeddings=131072
    tie_word_embeddings=false ffn_hidden_size=12288 q_lora_rank=1536 kv_lora_rank=512 qk_nope_head_dim=128
    qk_rope_head_dim=64 head_dim=64 v_head_dim=128 moe_topk=12 n_routed_experts=512 zero_expert_num=256
    expert_ffn_hidden_size=2048
mamba vocab_size=50280 hidden_size=768 state_size=16 num_hidden_layers=32 expand=2 conv_kernel=4 use_conv_bias=true
    time_step_rank=auto tie_word_embeddings=true
mamba2 num_heads=128 head_dim=64 vocab_size=32768 hidden_size=4096 state_size=128 num_hidden_layers=64 expand=2
    conv_kernel=4 n_groups=8 use_conv_bias=true time_step_rank=auto tie_word_embeddings=false
mellum vocab_size=98304 hidden_size=2304 intermediate_size=7168 num_hidden_layers=28 num_attention_heads=32
    num_key_value_heads=4 max_position_embeddings=131072 tie_word_embeddings=false sliding_window=1024
    moe_intermediate_size=896 num_experts_per_tok=8 num_experts=64 head_dim=128
mimo tie_word_embeddings=false
mimo_v2_flash first_k_dense_replace=1 vocab_size=152576 hidden_size=4096 intermediate_size=16384 num_hidden_layers=48
    num_attention_heads=64
    num_key_value_heads=4 max_position_embeddings=131072 tie_word_embeddings=false moe_intermediate_size=2048
    num_experts_per_tok=8 n_routed_experts=256 head_dim=192 v_head_dim=128 sliding_window=129
minicpm tie_word_embeddings=true
minicpm3 vocab_size=73448 hidden_size=2560 intermediate_size=6400 num_hidden_layers=62 num_attention_heads=40
    num_key_value_heads=40 max_position_embeddings=32768 tie_word_embeddings=true kv_lora_rank=256 q_lora_rank=768
    qk_nope_head_dim=64 qk_rope_head_dim=32
minimax vocab_size=32000 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 num_attention_heads=32
    num_key_value_heads=8 max_position_embeddings=131072 tie_word_embeddings=false num_experts_per_tok=2
    num_local_experts=8
minimax_m1 vocab_size=32000 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 num_attention_heads=32
    num_key_value_heads=8 max_position_embeddings=131072 tie_word_embeddings=false num_experts_per_tok=2
    num_local_experts=8
minimax_m2 vocab_size=200064 hidden_size=3072 intermediate_size=1536 num_hidden_layers=62 num_attention_heads=48
    num_key_value_heads=8 head_dim=128 max_position_embeddings=196608 tie_word_embeddings=false
    num_experts_per_tok=8 num_local_experts=256
minimax_m3 vocab_size=200064 hidden_size=6144 intermediate_size=3072 num_hidden_layers=60 num_attention_heads=64
    num_key_value_heads=4 head_dim=128 max_position_embeddings=524288 tie_word_embeddings=false
    num_experts_per_tok=4 num_local_experts=128 dense_intermediate_size=12288 shared_intermediate_size=3072
    index_n_heads=4 index_head_dim=128
minimax_m3_vl tie_word_embeddings=false
minimax_m3_vl_text vocab_size=200064 hidden_size=6144 intermediate_size=3072 num_hidden_layers=60
    num_attention_heads=64 num_key_value_heads=4 head_dim=128 max_position_embeddings=524288
    tie_word_embeddings=false num_experts_per_tok=4 num_local_experts=128 dense_intermediate_size=12288
    shared_intermediate_size=3072 index_n_heads=4 index_head_dim=128
ministral vocab_size=32000 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 num_attention_heads=32
    num_key_value_heads=8 max_position_embeddings=131072 tie_word_embeddings=false sliding_window=4096
ministral3 vocab_size=131072 hidden_size=4096 intermediate_size=14336 num_hidden_layers=34 num_attention_heads=32
    num_key_value_heads=8 head_dim=128 max_position_embeddings=262144 tie_word_embeddings=false
mistral vocab_size=32000 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 num_attention_heads=32
    num_key_value_heads=8 max_position_embeddings=131072 tie_word_embeddings=false sliding_window=4096
mistral3 spatial_merge_size=2 tie_word_embeddings=true
mistral4 vocab_size=131072 hidden_size=4096 intermediate_size=12288 moe_intermediate_size=2048 num_hidden_layers=36
    num_attention_heads=32 num_key_value_heads=32 n_shared_experts=1 n_routed_experts=128 kv_lora_rank=256
    q_lora_rank=1024 qk_rope_head_dim=64 v_head_dim=128 qk_nope_head_dim=64 num_experts_per_tok=4
    first_k_dense_replace=0 max_position_embeddings=1048576 tie_word_embeddings=false
mixtral vocab_size=32000 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 num_attention_heads=32
    num_key_value_heads=8 max_position_embeddings=131072 tie_word_embeddings=false num_experts_per_tok=2
    num_local_experts=8
mllama_text_model vocab_size=128256 hidden_size=4096 intermediate_size=14336 num_hidden_layers=40
    num_attention_heads=32 num_key_value_heads=8 max_position_embeddings=131072 tie_word_embeddings=false
mpt d_model=2048 n_heads=16 n_layers=24 expansion_ratio=4 max_seq_len=2048 vocab_size=50368 tie_word_embeddings=true
nanochat vocab_size=50304 hidden_size=768 intermediate_size=8192 num_hidden_layers=12 num_attention_heads=6
    max_position_embeddings=2048 tie_word_embeddings=false
nemotron vocab_size=256000 hidden_size=6144 intermediate_size=24576 num_hidden_layers=32 num_attention_heads=48
    max_position_embeddings=4096 tie_word_embeddings=false
nemotron_h vocab_size=131072 hidden_size=4096 tie_word_embeddings=false num_attention_heads=32 num_key_value_heads=8
    head_dim=128 max_position_embeddings=4096 intermediate_size=21504 ssm_state_size=128 mamba_num_heads=128
    mamba_head_dim=64 n_groups=8 conv_kernel=4 expand=2 use_conv_bias=true n_routed_experts=8 n_shared_experts=1
    moe_intermediate_size=7688 moe_shared_expert_intermediate_size=7688 num_experts_per_tok=2
    num_nextn_predict_layers=0
olmo vocab_size=50304 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32
    max_position_embeddings=2048 tie_word_embeddings=false
olmo2 vocab_size=50304 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32
    max_position_embeddings=2048 tie_word_embeddings=false
olmo3 vocab_size=50304 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32
    max_position_embeddings=2048 tie_word_embeddings=false sliding_window=4096
olmo_hybrid vocab_size=100352 hidden_size=3840 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=30
    max_position_embeddings=65536 tie_word_embeddings=false linear_num_key_heads=30
    linear_num_value_heads=30 linear_key_head_dim=96 linear_value_head_dim=192 linear_conv_kernel_dim=4
olmoe vocab_size=50304 hidden_size=2048 intermediate_size=2048 num_hidden_layers=16 num_attention_heads=16
    max_position_embeddings=4096 tie_word_embeddings=false num_experts_per_tok=8 num_experts=64
opt vocab_size=50272 hidden_size=768 num_hidden_layers=12 ffn_dim=3072 max_position_embeddings=2048
    do_layer_norm_before=true num_attention_heads=12 enable_bias=true layer_norm_elementwise_affine=true
    tie_word_embeddings=true
orion tie_word_embeddings=false
paddleocr_vl_text vocab_size=103424 hidden_size=1024 intermediate_size=3072 num_hidden_layers=18
    num_attention_heads=16 num_key_value_heads=2 head_dim=128 max_position_embeddings=131072
    tie_word_embeddings=true
paligemma vocab_size=257152 hidden_size=2048 tie_word_embeddings=true
persimmon vocab_size=262144 hidden_size=4096 intermediate_size=16384 num_hidden_layers=36 num_attention_heads=64
    max_position_embeddings=16384 tie_word_embeddings=false qk_layernorm=true
phi vocab_size=51200 hidden_size=2048 intermediate_size=8192 num_hidden_layers=24 num_attention_heads=32
    max_position_embeddings=2048 tie_word_embeddings=false
phi-msft vocab_size=51200 hidden_size=2048 intermediate_size=8192 num_hidden_layers=24 num_attention_heads=32
    max_position_embeddings=2048 tie_word_embeddings=false
phi3 vocab_size=32064 hidden_size=3072 intermediate_size=8192 num_hidden_layers=32 num_attention_heads=32
    max_position_embeddings=4096 tie_word_embeddings=false
phimoe vocab_size=32064 hidden_size=4096 intermediate_size=6400 num_hidden_layers=32 num_attention_heads=32
    num_key_value_heads=8 max_position_embeddings=131072 tie_word_embeddings=false num_experts_per_tok=2
    num_local_experts=16
pixtral hidden_size=1024 intermediate_size=4096 num_hidden_layers=24 num_attention_heads=16 num_channels=3
    image_size=1024 patch_size=16
qwen tie_word_embeddings=false
qwen2 vocab_size=151936 hidden_size=4096 intermediate_size=22016 num_hidden_layers=32 num_attention_heads=32
    num_key_value_heads=32 max_position_embeddings=32768 tie_word_embeddings=false sliding_window=4096
    max_window_layers=28
qwen2_5_omni_text vocab_size=152064 hidden_size=3584 intermediate_size=18944 num_hidden_layers=28
    num_attention_heads=28 num_key_value_heads=4 max_position_embeddings=32768 tie_word_embeddings=false
qwen2_5_vl tie_word_embeddings=false
qwen2_5_vl_text vocab_size=152064 hidden_size=8192 intermediate_size=29568 num_hidden_layers=80
    num_attention_heads=64 num_key_value_heads=8 max_position_embeddings=32768 sliding_window=4096
    max_window_layers=80
qwen2_moe vocab_size=151936 hidden_size=2048 intermediate_size=5632 num_hidden_layers=24 num_attention_heads=16
    num_key_value_heads=16 max_position_embeddings=32768 tie_word_embeddings=false sliding_window=4096
    max_window_layers=28 decoder_sparse_step=1 moe_intermediate_size=1408 shared_expert_intermediate_size=5632
    num_experts_per_tok=4 num_experts=60 qkv_bias=true
qwen2_vl tie_word_embeddings=false
qwen2_vl_text vocab_size=152064 hidden_size=8192 intermediate_size=29568 num_hidden_layers=80 num_attention_heads=64
    num_key_value_heads=8 max_position_embeddings=32768 sliding_window=4096 max_window_layers=80
qwen3 vocab_size=151936 hidden_size=4096 intermediate_size=22016 num_hidden_layers=32 num_attention_heads=32
    num_key_value_heads=32 head_dim=128 max_position_embeddings=32768 tie_word_embeddings=false sliding_window=4096
    max_window_layers=28
qwen3_5 tie_word_embeddings=false
qwen3_5_moe tie_word_embeddings=false
qwen3_5_moe_text vocab_size=248320 hidden_size=2048 num_hidden_layers=40 num_attention_heads=16
    num_key_value_heads=2 max_position_embeddings=32768 tie_word_embeddings=false head_dim=256
    linear_conv_kernel_dim=4 linear_key_head_dim=128 linear_value_head_dim=128 linear_num_key_heads=16
    linear_num_value_heads=32 moe_intermediate_size=512 shared_expert_intermediate_size=512 num_experts_per_tok=8
    num_experts=256
qwen3_5_text vocab_size=248320 hidden_size=4096 intermediate_size=12288 num_hidden_layers=32 num_attention_heads=16
    num_key_value_heads=4 max_position_embeddings=32768 tie_word_embeddings=false head_dim=256
    linear_conv_kernel_dim=4 linear_key_head_dim=128 linear_value_head_dim=128 linear_num_key_heads=16
    linear_num_value_heads=32
qwen3_moe vocab_size=151936 hidden_size=2048 intermediate_size=6144 num_hidden_layers=24 num_attention_heads=32
    num_key_value_heads=4 max_position_embeddings=32768 tie_word_embeddings=false sliding_window=4096
    decoder_sparse_step=1 moe_intermediate_size=768 num_experts_per_tok=8 num_experts=128
qwen3_next vocab_size=151936 hidden_size=2048 intermediate_size=5632 num_hidden_layers=48 num_attention_heads=16
    num_key_value_heads=2 max_position_embeddings=32768 tie_word_embeddings=false head_dim=256
    linear_conv_kernel_dim=4 linear_key_head_dim=128 linear_value_head_dim=128 linear_num_key_heads=16
    linear_num_value_heads=32 decoder_sparse_step=1 moe_intermediate_size=512 shared_expert_intermediate_size=512
    num_experts_per_tok=10 num_experts=512
qwen3_vl tie_word_embeddings=false
qwen3_vl_moe tie_word_embeddings=false
qwen3_vl_moe_text vocab_size=151936 hidden_size=2048 intermediate_size=5632 num_hidden_layers=24
    num_attention_heads=16 num_key_value_heads=16 max_position_embeddings=128000 tie_word_embeddings=true
    decoder_sparse_step=1 moe_intermediate_size=1408 num_experts_per_tok=4 num_experts=60
qwen3_vl_text vocab_size=151936 hidden_size=4096 intermediate_size=22016 num_hidden_layers=32 num_attention_heads=32
    num_key_value_heads=32 head_dim=128 max_position_embeddings=128000
sarvam_mla vocab_size=262144 hidden_size=4096 intermediate_size=16384 moe_intermediate_size=2048
    num_hidden_layers=32 num_attention_heads=64 n_shared_experts=1 n_routed_experts=128 kv_lora_rank=512
    qk_rope_head_dim=64 v_head_dim=128 qk_nope_head_dim=128 num_experts_per_tok=8 first_k_dense_replace=1
    max_position_embeddings=4096 tie_word_embeddings=false
sarvam_moe vocab_size=262144 hidden_size=4096 intermediate_size=8192 num_hidden_layers=19 num_attention_heads=64
    num_key_value_heads=4 max_position_embeddings=131072 tie_word_embeddings=false moe_intermediate_size=1024
    num_experts_per_tok=6 n_shared_experts=1 n_routed_experts=128 first_k_dense_replace=1 use_qk_norm=true head_dim=64
seed_oss vocab_size=155136 hidden_size=4096 intermediate_size=27648 num_hidden_layers=64 num_attention_heads=80
    num_key_value_heads=8 max_position_embeddings=524288 tie_word_embeddings=false attention_bias=true head_dim=128
smollm3 vocab_size=128256 hidden_size=2048 intermediate_size=11008 num_hidden_layers=36 num_attention_heads=16
    num_key_value_heads=4 max_position_embeddings=32768 no_rope_layer_interval=4 tie_word_embeddings=true
smolvlm tie_word_embeddings=false
solar_open vocab_size=196608 hidden_size=4096 num_hidden_layers=48 num_attention_heads=64 num_key_value_heads=8
    max_position_embeddings=131072 tie_word_embeddings=false moe_intermediate_size=1280 num_experts_per_tok=8
    n_shared_experts=1 n_routed_experts=128 head_dim=128
stablelm vocab_size=50304 intermediate_size=6912 hidden_size=2560 num_hidden_layers=32 num_attention_heads=32
    num_key_value_heads=32 max_position_embeddings=4096 tie_word_embeddings=false
starcoder2 vocab_size=49152 hidden_size=3072 intermediate_size=12288 num_hidden_layers=30 num_attention_heads=24
    num_key_value_heads=2 max_position_embeddings=4096 use_bias=true tie_word_embeddings=true
step3p5 vocab_size=128815 hidden_size=4096 intermediate_size=11264 num_hidden_layers=45 num_attention_heads=64
    num_key_value_heads=8 head_dim=128 max_position_embeddings=128000 tie_word_embeddings=false
    num_experts_per_tok=8 num_local_experts=128 moe_intermediate_size=1280 n_routed_experts=288
    share_expert_dim=1280
vaultgemma vocab_size=256000 hidden_size=2304 intermediate_size=9216 num_hidden_layers=26 num_attention_heads=8
    num_key_value_heads=4 head_dim=256 max_position_embeddings=8192 tie_word_embeddings=true sliding_window=4096
xglm vocab_size=256008 d_model=1024 ffn_dim=4096 num_layers=24 attention_heads=16 max_position_embeddings=2048
    tie_word_embeddings=true
xverse tie_word_embeddings=false
yi tie_word_embeddings=false
youtu vocab_size=128256 hidden_size=2048 intermediate_size=6144 num_hidden_layers=32 num_attention_heads=16
    num_key_value_heads=16 kv_lora_rank=512 q_lora_rank=1536 qk_rope_head_dim=64 v_head_dim=128 qk_nope_head_dim=128
    max_position_embeddings=131072 tie_word_embeddings=true
zamba2 vocab_size=32000 max_position_embeddings=4096 hidden_size=2560 num_hidden_layers=54 mamba_d_state=64
    mamba_d_conv=4 mamba_expand=2 mamba_ngroups=1 n_mamba_heads=8 use_conv_bias=true num_attention_heads=32
    num_mem_blocks=1 adapter_rank=128 tie_word_embeddings=true
"""


def _value(text: str) -> int | float | bool | str:
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _parse(text: str) -> dict[str, dict[str, int | float | bool | str]]:
    table: dict[str, dict[str, int | float | bool | str]] = {}
    current: dict[str, int | float | bool | str] = {}
    for line in text.strip().splitlines():
        words = line.split()
        if not line.startswith(" "):
            current = table.setdefault(words.pop(0), {})
        for word in words:
            key, _, value = word.partition("=")
            current[key] = _value(value)
    return table


CLASS_DEFAULTS = _parse(_TEXT)
_NONE: Mapping[str, int | float | bool | str] = {}


def class_defaults(model_type: str, rule_type: str) -> Mapping[str, int | float | bool | str]:
    """The class defaults of a model_type, or of the type whose rule reads it; empty when there are none."""
    found = CLASS_DEFAULTS.get(model_type)
    return found if found is not None else CLASS_DEFAULTS.get(rule_type, _NONE)
